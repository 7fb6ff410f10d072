//! Numbers with units, as settings and flags have them: `5s`, `512MB`.

use std::time::Duration;

/// `500ms`, `5s`, `2m`, `1h`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("", 1.0)];
    let seconds = measured(text, &units).ok_or("a time looks like 500ms, 5s or 2m")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// `512MB`, `2GiB`; a bare number is bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    let units = [
        ("KIB", 1024.0),
        ("MIB", 1_048_576.0),
        ("GIB", 1_073_741_824.0),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("B", 1.0),
        ("", 1.0),
    ];
    let bytes = measured(&text.to_uppercase(), &units).ok_or("a size looks like 512MB or 2GiB")?;
    if bytes < 1.0 { Err("a size of at least one byte is needed".into()) } else { Ok(bytes as u64) }
}

/// `3000` or `3_000`.
pub fn count(text: &str) -> Result<u64, String> {
    text.replace('_', "").parse().map_err(|_| "a whole number is needed".to_string())
}

fn measured(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (unit, factor) = units.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number = text.strip_suffix(unit)?.trim();
    let value: f64 = number.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood() {
        assert_eq!(duration("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(duration("1.5 s").unwrap(), Duration::from_millis(1_500));
        assert_eq!(duration("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(duration("3").unwrap(), Duration::from_secs(3));
        assert_eq!(bytes("512MB").unwrap(), 512_000_000);
        assert_eq!(bytes("2gib").unwrap(), 2 << 30);
        assert_eq!(bytes("7").unwrap(), 7);
        for wrong in ["", "s", "-1s", "5x", "nan", "1e400s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert!(bytes("0").is_err() && bytes("MB").is_err());
    }
}
