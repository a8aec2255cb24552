//! Dates that are read: those of RFC 3339 in envelopes, and that of RFC 9110 that a gateway may say.

use crate::calendar::date_of;

/// Days since 1970-01-01 of a day of the proleptic Gregorian calendar. The 31st of a short month is the 1st of the next.
fn days_of(year: u64, month: u64, day: u64) -> Option<u64> {
    let years = if month > 2 { year } else { year.checked_sub(1)? };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day.checked_sub(1)?;
    (years * 365 + years / 4 - years / 100 + years / 400 + day_of_year).checked_sub(719_468)
}

/// Whether it is a time in UTC as anchors show them, of a year from 1970 to 9999: `2026-11-23T10:00:00.000Z`.
pub(crate) fn is_rfc3339(text: &str) -> bool {
    const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    let bytes = text.as_bytes();
    let is_of_form = bytes.len() == FORM.len()
        && bytes.iter().zip(FORM).all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form });
    let number = |from: usize, to: usize| text.get(from..to).and_then(|digits| digits.parse::<u64>().ok());
    let date = (number(0, 4), number(5, 7), number(8, 10));
    let (Some(year @ 1970..), Some(month @ 1..=12), Some(day)) = date else { return false };
    let is_of_calendar = days_of(year, month, day).map(date_of) == Some((year, month, day));
    let is_of_day = number(11, 13) < Some(24) && number(14, 16) < Some(60) && number(17, 19) < Some(60);
    is_of_form && is_of_calendar && is_of_day
}

#[cfg(feature = "client")]
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Unix seconds of an IMF-fixdate (RFC 9110 section 5.6.7), the one form that is still written.
#[cfg(feature = "client")]
pub(crate) fn from_http_date(text: &str) -> Option<u64> {
    let rest = text.strip_suffix(" GMT")?.split_once(", ")?.1;
    let [day, month, year, time] = rest.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let [hour, minute, second] = time.split(':').collect::<Vec<_>>().try_into().ok()?;
    let number = |text: &str, digits: usize, most: u64| -> Option<u64> {
        let is_plain = text.len() == digits && text.bytes().all(|digit| digit.is_ascii_digit());
        text.parse().ok().filter(|number| is_plain && *number <= most)
    };
    let days = days_of(number(year, 4, 9_999)?, month, number(day, 2, 31)?)?;
    let seconds = number(hour, 2, 23)? * 3_600 + number(minute, 2, 59)? * 60 + number(second, 2, 60)?;
    Some(days * 86_400 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::to_rfc3339;

    #[test]
    fn times_as_texts() {
        for (time_ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_001, "2000-02-29T00:00:00.001Z"),
            (1_767_225_600_060, "2026-01-01T00:00:00.060Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(to_rfc3339(time_ms), text);
        }
        assert!((0..40_000).all(|days| {
            let (year, month, day) = date_of(days);
            days_of(year, month, day) == Some(days)
        }));
    }

    #[cfg(feature = "client")]
    #[test]
    fn dates_of_http() {
        assert_eq!(from_http_date("Thu, 01 Jan 1970 00:00:07 GMT"), Some(7));
        assert_eq!(from_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        for bad in [
            "",
            "soon",
            "Sun, 06 Nov 1994 08:49:37",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 00 Jan 1970 00:00:00 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov +994 08:49:37 GMT",
        ] {
            assert_eq!(from_http_date(bad), None, "{bad}");
        }
    }
}
