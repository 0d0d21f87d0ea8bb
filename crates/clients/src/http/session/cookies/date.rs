//! Dates of cookies (RFC 6265, section 5.1.1): far looser than those of other header fields, hence an own reader.

/// Reads a date as Unix seconds. Dates before 1970 are second 0. `None` if it is not a date.
pub(super) fn parse_date(text: &str) -> Option<u64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let Some(found) = parse_time(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = parse_digits(token, 1, 2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = parse_month(token)
        {
            month = Some(found);
        } else if year.is_none() {
            year = parse_digits(token, 2, 4).map(full_year);
        }
    }
    let ((hour, minute, second), day, month, year) = (time?, day?, month?, year?);
    let valid = (1..=31).contains(&day) && year >= 1601 && hour <= 23 && minute <= 59 && second <= 59;
    if !valid || day > days_in_month(year, month) {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + i64::from(hour * 3600 + minute * 60 + second);
    Some(u64::try_from(seconds).unwrap_or(0))
}

/// Everything but letters, digits and colons separates, as do bytes beyond ASCII in no known date.
fn is_delimiter(c: char) -> bool {
    matches!(c, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~')
}

/// `hh:mm:ss`, one or two digits each; what follows the last digit is ignored.
fn parse_time(token: &str) -> Option<(u32, u32, u32)> {
    let mut fields = token.splitn(3, ':');
    let mut whole = || fields.next().filter(|field| field.len() <= 2)?.parse::<u8>().ok().map(u32::from);
    let (hour, minute) = (whole()?, whole()?);
    Some((hour, minute, parse_digits(fields.next()?, 1, 2)?))
}

/// A number of `min` to `max` digits at the start, with no further digit behind it.
fn parse_digits(token: &str, min: usize, max: usize) -> Option<u32> {
    let end = token.find(|c: char| !c.is_ascii_digit()).unwrap_or(token.len());
    if (min..=max).contains(&end) { token[..end].parse().ok() } else { None }
}

/// The month, from 1, by its first three letters.
fn parse_month(token: &str) -> Option<u32> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let word = token.get(..3)?;
    let at = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(word))?;
    Some(at as u32 + 1)
}

fn full_year(year: u32) -> u32 {
    match year {
        70..=99 => year + 1900,
        0..=69 => year + 2000,
        _ => year,
    }
}

fn days_in_month(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days in the Gregorian calendar, years counted from March so that the leap day comes last.
fn days_since_1970(year: u32, month: u32, day: u32) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * from_march + 2) / 5 + i64::from(day) - 1;
    let days_before_1970 = 719_468;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - days_before_1970
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_in_every_form_seen_are_read() {
        let table = [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("Wed, 09-Jun-2021 10:18:14 GMT", Some(1_623_233_894)),
            ("1 jan 1970 0:0:0", Some(0)),
            ("Thu, 29 Feb 2024 00:00:00 GMT", Some(1_709_164_800)),
            ("Tue, 19 Jan 2038 03:14:08 GMT", Some(2_147_483_648)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Mon, 01 Jan 1601 00:00:00 GMT", Some(0)),
            ("Thu, 29 Feb 2023 00:00:00 GMT", None),
            ("Thu, 32 Jan 2023 00:00:00 GMT", None),
            ("Thu, 01 Jan 2023 24:00:00 GMT", None),
            ("Thu, 01 Jan 1600 00:00:00 GMT", None),
            ("Thu, 01 2023 00:00:00", None),
            ("tomorrow", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_date(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn consecutive_days_differ_by_one(year in 1601u32..9999, month in 1u32..=12, day in 1u32..=31) {
            prop_assume!(day <= days_in_month(year, month));
            let next = match (month, day == days_in_month(year, month)) {
                (12, true) => (year + 1, 1, 1),
                (_, true) => (year, month + 1, 1),
                (_, false) => (year, month, day + 1),
            };
            let today = days_since_1970(year, month, day);
            prop_assert_eq!(days_since_1970(next.0, next.1, next.2), today + 1);
        }
    }
}
