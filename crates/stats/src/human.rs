//! Numbers as people read them: three digits, a unit, no false precision.

/// Microseconds as `850ns`, `1.23ms`, `12.3s`, `2m05s`.
pub fn micros(us: f64) -> String {
    const SCALE: [(f64, &str, f64); 4] =
        [(1.0, "ns", 1e-3), (1e3, "µs", 1.0), (1e6, "ms", 1e3), (60e6, "s", 1e6)];
    if us <= 0.0 {
        return "0".to_owned();
    }
    for (below, unit, divisor) in SCALE {
        // What would round up to the next unit is shown in it: 1.00ms and not 1000µs.
        if us < below * 0.9995 || unit == "s" && us < below {
            return format!("{}{unit}", digits(us / divisor));
        }
    }
    seconds(us / 1e6)
}

/// Whole times as `12.3s`, `2m05s`, `1h02m`.
pub fn seconds(s: f64) -> String {
    if s < 59.95 {
        return format!("{s:.1}s");
    }
    let whole = s.round() as u64;
    match whole {
        0..3600 => format!("{}m{:02}s", whole / 60, whole % 60),
        _ => format!("{}h{:02}m", whole / 3600, whole % 3600 / 60),
    }
}

/// A count with its thousands apart: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate per second: `0.25/s`, `12.3/s`, `1,234/s`.
pub fn rate(per_second: f64) -> String {
    if per_second >= 99.95 {
        return format!("{}/s", count(per_second.round() as u64));
    }
    format!("{per_second:.1}/s")
}

/// Bytes in decimal units: `512 B`, `1.21 MB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if n < 1_000 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1e3;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    format!("{} {}", digits(value), UNITS[unit])
}

/// A fraction as `99.9 %`; all and nothing are never shown for almost all and almost nothing.
pub fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent {
        p if p > 0.0 && p < 0.01 => "<0.01 %".to_owned(),
        p if p > 99.99 && p < 100.0 => ">99.99 %".to_owned(),
        p => format!("{} %", trim(format!("{p:.2}"))),
    }
}

/// A plain number, as short as it can be: `6`, `0.5`, `1234.57`.
pub fn number(value: f64) -> String {
    if value != 0.0 && (value.abs() < 0.001 || value.abs() >= 1e15) {
        return format!("{value:.3e}");
    }
    let decimals = if value.abs() < 1.0 { 4 } else { 2 };
    trim(format!("{value:.decimals$}"))
}

/// Three significant digits of a number below 1000.
fn digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

fn trim(text: String) -> String {
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_the_right_unit() {
        for (us, text) in [
            (0.0, "0"),
            (0.1, "100ns"),
            (0.85, "850ns"),
            (1.0, "1.00µs"),
            (12.34, "12.3µs"),
            (999.4, "999µs"),
            (999.9, "1.00ms"),
            (1_234.0, "1.23ms"),
            (1_000_000.0, "1.00s"),
            (12_345_678.0, "12.3s"),
            (125_000_000.0, "2m05s"),
            (3_720_000_000.0, "1h02m"),
        ] {
            assert_eq!(micros(us), text, "{us} µs");
        }
    }

    #[test]
    fn counts_rates_and_bytes() {
        assert_eq!(
            [count(0), count(999), count(1_000), count(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!([rate(0.25), rate(12.34), rate(120_345.6)], ["0.2/s", "12.3/s", "120,346/s"]);
        assert_eq!(
            [bytes(0), bytes(999), bytes(1_210), bytes(999_999)],
            ["0 B", "999 B", "1.21 kB", "1.00 MB"]
        );
    }

    #[test]
    fn almost_all_is_not_all() {
        assert_eq!([percent(0.0), percent(1.0), percent(0.5)], ["0 %", "100 %", "50 %"]);
        assert_eq!(
            [percent(0.999_999), percent(0.000_001), percent(0.012_3)],
            [">99.99 %", "<0.01 %", "1.23 %"]
        );
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [number(6.0), number(0.5), number(1_234.567), number(-3.0)],
            ["6", "0.5", "1234.57", "-3"]
        );
        assert_eq!([number(0.000_01), number(0.0)], ["1.000e-5", "0"]);
    }
}
