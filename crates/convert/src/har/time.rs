//! Points in time of recordings: RFC 3339 to milliseconds.

/// Milliseconds since 1970 of `2026-03-01T12:00:00.123+01:00`.
pub(super) fn unix_ms(text: &str) -> Option<i64> {
    let (date, rest) = text.trim().split_once(['T', ' '])?;
    let at = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(at);
    let days = days(&numbers(date, '-')?)?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let [hour, minute, second] = numbers(clock, ':')?;
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
        return None;
    }
    let ms: String = fraction.chars().chain("000".chars()).take(3).collect();
    let ms: i64 = ms.parse().ok()?;
    let seconds = ((days * 24 + hour) * 60 + minute - offset_minutes(zone)?) * 60 + second;
    Some(seconds * 1_000 + ms)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| part.parse::<u16>().ok().map(i64::from));
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

fn offset_minutes(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits = zone.get(1..)?.replace(':', "");
    let (hours, minutes) =
        (digits.get(..2)?.parse::<u8>().ok()?, digits.get(2..4).unwrap_or("00").parse::<u8>().ok()?);
    Some(sign * (i64::from(hours) * 60 + i64::from(minutes)))
}

/// Days since 1970 in the Gregorian calendar; years begin in March, so that the leap day is the last one.
fn days([year, month, day]: &[i64; 3]) -> Option<i64> {
    if !(1..=12).contains(month) || !(1..=31).contains(day) {
        return None;
    }
    let year = if *month <= 2 { year - 1 } else { *year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_recordings_are_read() {
        for (text, wanted) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00.5Z", Some(951_825_600_500)),
            ("2026-03-01T01:00:00.123456+01:00", Some(1_772_323_200_123)),
            ("2026-02-28T19:30:00-0430", Some(1_772_323_200_000)),
            ("2026-13-01T00:00:00Z", None),
            ("yesterday", None),
            ("2026-01-01T00:00:00", None),
            ("", None),
        ] {
            assert_eq!(unix_ms(text), wanted, "{text}");
        }
    }
}
