use std::path::{Path, PathBuf};

use hyperscale_plan::load::Share;
use hyperscale_plan::model::{DataEnd, DataOrder};
use proptest::prelude::*;

use super::*;

const CSV: DataFormat = DataFormat::Csv { delimiter: b',' };
const ALL: Share = Share { core: 0, cores: 1, vus: 1 };

fn source(path: &Path, format: DataFormat) -> DataSource {
    let name = "users".parse().expect("a name");
    DataSource { name, path: path.to_owned(), format, order: DataOrder::Sequential, on_end: DataEnd::Stop }
}

/// A data file with this content in a folder that is removed with it.
fn write(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows");
    std::fs::write(&path, content).expect("written");
    (folder, path)
}

fn check(content: &[u8], format: DataFormat) -> Result<DataFile, (Option<u64>, Problem)> {
    DataFile::check(Bytes::Memory(content.to_vec()), format)
        .map_err(|(bytes, fault)| (fault.line(&bytes), fault.problem))
}

fn rows(file: DataFile, order: DataOrder) -> Vec<Value> {
    let source = DataSource { order, ..source(Path::new("x"), CSV) };
    let mut cursor = Cursor::new(&Arc::new(file), &source, ALL);
    std::iter::from_fn(|| cursor.next(0, 0)).collect()
}

/// The rows as JSON, one per line.
fn json(content: &str, format: DataFormat) -> String {
    let rows = rows(check(content.as_bytes(), format).expect("valid"), DataOrder::Sequential);
    let text = |row: &Value| serde_json::to_string(row).expect("JSON");
    rows.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[test]
fn csv_rows_are_maps_from_column_to_text() {
    let content = "\u{feff}name, age\r\nann,7\r\n\r\n\"b,\n\"\"o\"\"b\",\r\nä\" b,08";
    let expected = concat!(
        "{\"name\":\"ann\",\"age\":\"7\"}\n",
        "{\"name\":\"b,\\n\\\"o\\\"b\",\"age\":\"\"}\n",
        "{\"name\":\"ä\\\" b\",\"age\":\"08\"}",
    );
    assert_eq!(json(content, CSV), expected);
    assert_eq!(json("a;b\n1,5;2\n", DataFormat::Csv { delimiter: b';' }), "{\"a\":\"1,5\",\"b\":\"2\"}");
    let file = check(content.as_bytes(), CSV).expect("valid");
    assert_eq!((file.rows(), file.columns().collect::<Vec<_>>()), (3, vec!["name", "age"]));
}

#[test]
fn json_lines_are_values() {
    let content = "\u{feff}{\"a\":1,\"b\":{\"c\":[true,null]}}\n\r\n \t\n {\"a\":\"x\"} \r{\"a\":2.5}\n  ";
    let expected = "{\"a\":1,\"b\":{\"c\":[true,null]}}\n{\"a\":\"x\"}\n{\"a\":2.5}";
    assert_eq!(json(content, DataFormat::JsonLines), expected);
}

#[test]
fn fields_are_read_by_templates() {
    let row = &rows(check(b"name,age\nann,7\n", CSV).expect("valid"), DataOrder::Sequential)[0];
    assert_eq!(row.get_attr("name").expect("a map").as_str(), Some("ann"));
    assert_eq!(row.get_item(&Value::from("age")).expect("a map").as_str(), Some("7"));
    assert!(row.get_attr("nothing").expect("a map").is_undefined());
}

#[test]
fn broken_csv_is_refused_with_its_line() {
    let wide = vec!["c"; COLUMNS_MAX + 1].join(",");
    let long = format!("a\nx\n\"{}\n", "y\n".repeat(ROW_BYTES_MAX));
    let table: [(&[u8], Option<u64>, Problem); 13] = [
        (b"", None, Problem::Empty),
        (b"\r\n\n", None, Problem::NoRows),
        (b"a,b\n", None, Problem::NoRows),
        (b"a,b\r\n1,2\r\n3\r\n", Some(3), Problem::Ragged { expected: 2, found: 1 }),
        (b"a,b\n\"1\n\n\",2\n\n3,4,5\n", Some(6), Problem::Ragged { expected: 2, found: 3 }),
        (b"a\r1\r2,3\r", Some(1), Problem::Ragged { expected: 1, found: 2 }),
        (b"\n\na,,b\n1,2,3\n", Some(3), Problem::UnnamedColumn(2)),
        (b"a,b, a\n1,2,3\n", Some(1), Problem::DuplicateColumn("a".to_owned())),
        (b"a\n1\n\xff\n", Some(3), Problem::NotUtf8),
        (b"a,b\n1,2\n\"3,4\n5,6\n", Some(3), Problem::UnclosedQuote),
        (b"a\n1\n\"2\n3\n", Some(3), Problem::UnclosedQuote),
        (wide.as_bytes(), Some(1), Problem::TooManyColumns),
        (long.as_bytes(), Some(3), Problem::RowTooLong),
    ];
    for (content, line, problem) in table {
        let shown = String::from_utf8_lossy(&content[..content.len().min(40)]).into_owned();
        assert_eq!(check(content, CSV).map(|_| ()), Err((line, problem)), "{shown:?}");
    }
}

#[test]
fn broken_json_lines_are_refused_with_their_line() {
    let problem = |content: &[u8]| check(content, DataFormat::JsonLines).expect_err("broken");
    assert_eq!(problem(b"{}\n\n[1]\n"), (Some(3), Problem::NotAnObject));
    assert_eq!(problem(b"\n\n"), (None, Problem::NoRows));
    let (line, Problem::Json(message)) = problem(b"{}\n{\"a\":}\n") else { panic!("not JSON") };
    assert_eq!((line, message.as_str()), (Some(2), "expected value at column 6"));
    assert!(matches!(problem(b"{\"a\":1e999}\n"), (Some(1), Problem::Json(_))));
    assert!(matches!(
        problem(format!("{{\"a\":{}}}", "[".repeat(500)).as_bytes()),
        (Some(1), Problem::Json(_))
    ));
    assert_eq!(problem(&vec![b'1'; ROW_BYTES_MAX + 1]), (Some(1), Problem::RowTooLong));
}

#[test]
fn errors_name_the_file_and_the_line() {
    let (_folder, path) = write(b"a,b\n1\n");
    let error = DataFile::open(&source(&path, CSV)).expect_err("ragged");
    assert_eq!(error.to_string(), format!("{}:2: 1 fields, but the header has 2", path.display()));
    let missing = path.with_extension("missing");
    let error = DataFile::open(&source(&missing, CSV)).expect_err("missing");
    assert!(error.to_string().starts_with(&format!("{}: ", missing.display())) && error.line.is_none());
    let folder = DataFile::open(&source(path.parent().expect("a folder"), CSV)).expect_err("a folder");
    assert!(matches!(folder.problem, Problem::Io(_)));
}

#[test]
fn mapped_and_read_files_have_the_same_rows() {
    let (_folder, path) = write(b"a\n1\n2\n3\n");
    let mapped = Bytes::open_mapping_above(&path, 0).expect("mapped");
    assert!(matches!(mapped, Bytes::Mapped(_)));
    let mapped = DataFile::check(mapped, CSV).expect("valid");
    let read = DataFile::open(&source(&path, CSV)).expect("valid");
    assert!(matches!(read.bytes, Bytes::Memory(_)));
    assert_eq!(rows(mapped, DataOrder::Sequential), rows(read, DataOrder::Sequential));
}

#[test]
fn every_row_of_many_blocks_is_found_in_any_order() {
    for (quote, format) in [("", CSV), ("\"", CSV), ("", DataFormat::JsonLines)] {
        let line = |row: u64| match format {
            DataFormat::Csv { .. } => format!("{quote}{row}{quote},x\r\n"),
            DataFormat::JsonLines => format!("{{\"a\":{row}}}\n"),
        };
        let count = ROWS_PER_BLOCK * 3 + 7;
        let header = if format == CSV { "a,b\r\n" } else { "" };
        let content: String = std::iter::once(header.to_owned()).chain((0..count).map(line)).collect();
        let file = Arc::new(check(content.as_bytes(), format).expect("valid"));
        assert_eq!((file.rows(), file.index.blocks.len()), (count, 4));
        let mut cursor = Cursor::new(&file, &source(Path::new("x"), format), ALL);
        // Steps beyond the block size that meet every row: 2 049 and the count have no common divisor.
        for row in (0..count).map(|at| at * 2_049 % count) {
            assert_eq!(cursor.row(row).get_attr("a").expect("a map").to_string(), row.to_string());
        }
    }
}

#[test]
fn unique_rows_differ_between_virtual_users_on_any_core() {
    let content = "a\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let file = Arc::new(check(content.as_bytes(), CSV).expect("valid"));
    let source = DataSource { order: DataOrder::Unique, ..source(Path::new("x"), CSV) };
    let mut seen = Vec::new();
    for vu in 0..7 {
        let mut cursor = Cursor::new(&file, &source, Share { core: vu % 3, cores: 3, vus: 7 });
        seen.extend(
            std::iter::from_fn(|| cursor.next(vu, 0))
                .map(|row| row.get_attr("a").expect("a map").to_string()),
        );
    }
    assert_eq!(seen, (0..10).map(|row| row.to_string()).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn written_fields_are_read_back(
        fields in proptest::collection::vec(("[a,\"\r\n\u{e9} ]{0,6}", "[a-c]{1,3}"), 1..40),
    ) {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut written = vec!["x,y".to_owned()];
        written.extend(fields.iter().map(|(a, b)| format!("{},{b}", quoted(a))));
        let file = check(written.join("\r\n").as_bytes(), CSV).expect("valid");
        let read: Vec<(String, String)> = rows(file, DataOrder::Sequential)
            .iter()
            .map(|row| {
                let field = |name| row.get_attr(name).expect("a map").to_string();
                (field("x"), field("y"))
            })
            .collect();
        prop_assert_eq!(read, fields);
    }
}

/// Whatever is in a file: it is refused, or every row of it can be read.
#[test]
fn fuzz_data_file() {
    bolero::check!(name = "data_file").for_each(|content: &[u8]| {
        for format in [CSV, DataFormat::JsonLines] {
            let Ok(file) = check(content, format) else { continue };
            let count = file.rows();
            let rows = rows(file, DataOrder::Sequential);
            assert_eq!(rows.len() as u64, count);
            assert!(rows.iter().all(|row| !row.is_undefined()));
        }
    });
}
