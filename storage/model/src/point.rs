//! Points: from maps, their coordinates by name, distances and boxes, in the four coordinate systems of Cypher.

use crate::temporal::TemporalError;
use crate::value::{Map, Point, Value};
use std::fmt;

/// Cartesian coordinates in the plane.
pub const CARTESIAN: u32 = 7203;
/// Cartesian coordinates in space.
pub const CARTESIAN_3D: u32 = 9157;
/// Longitude and latitude on the globe.
pub const WGS_84: u32 = 4326;
/// Longitude, latitude and height on the globe.
pub const WGS_84_3D: u32 = 4979;

/// Metres of the radius that distances on the globe are computed with.
const EARTH_RADIUS: f64 = 6_378_140.0;

/// A point cannot be made or read so; shares the form of temporal errors.
pub type PointError = TemporalError;

/// Name of a coordinate system.
pub fn crs_name(srid: u32) -> &'static str {
    match srid {
        CARTESIAN => "cartesian",
        CARTESIAN_3D => "cartesian-3d",
        WGS_84 => "wgs-84",
        WGS_84_3D => "wgs-84-3d",
        _ => "unknown",
    }
}

impl Point {
    /// Does it lie on the globe?
    pub fn is_geographic(&self) -> bool {
        matches!(self.srid, WGS_84 | WGS_84_3D)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "point({{x: {:?}, y: {:?}", self.x, self.y)?;
        if let Some(z) = self.z {
            write!(f, ", z: {z:?}")?;
        }
        write!(f, ", crs: '{}'}})", crs_name(self.srid))
    }
}

/// A point from its coordinates (`x`, `y`, `z` or `longitude`, `latitude`, `height`), with `crs` or `srid` where it is not to be
/// guessed from their names. `None` if a coordinate is null.
///
/// # Errors
/// Missing or unknown names, coordinates that are no numbers or lie off the globe.
pub fn from_map(map: &Map) -> Result<Option<Point>, PointError> {
    const KNOWN: [&str; 8] = ["x", "y", "z", "longitude", "latitude", "height", "crs", "srid"];
    if let Some(name) = map.keys().find(|name| !KNOWN.contains(&&***name)) {
        return Err(PointError::new(format!("a point has no field '{name}'")));
    }
    if map.values().any(Value::is_null) {
        return Ok(None);
    }
    let coordinate = |names: [&str; 2]| match names.iter().find_map(|name| map.get(*name)) {
        None => Ok(None),
        Some(Value::Int(int)) => Ok(Some(*int as f64)),
        Some(Value::Float(float)) => Ok(Some(*float)),
        Some(_) => Err(PointError::new(format!("coordinate {} must be a number", names[0]))),
    };
    let (x, y) = (coordinate(["x", "longitude"])?, coordinate(["y", "latitude"])?);
    let z = coordinate(["z", "height"])?;
    let (Some(x), Some(y)) = (x, y) else {
        return Err(PointError::new("a point needs x and y, or longitude and latitude"));
    };
    let on_globe = ["longitude", "latitude", "height"].iter().any(|name| map.contains_key(*name));
    let guessed = match (on_globe, z.is_some()) {
        (false, false) => CARTESIAN,
        (false, true) => CARTESIAN_3D,
        (true, false) => WGS_84,
        (true, true) => WGS_84_3D,
    };
    let srid = named_system(map)?.unwrap_or(guessed);
    let point = Point { srid, x, y, z };
    let three = matches!(srid, CARTESIAN_3D | WGS_84_3D);
    if three != z.is_some() {
        return Err(PointError::new(format!(
            "{} takes {} coordinates",
            crs_name(srid),
            if three { 3 } else { 2 }
        )));
    }
    if on_globe && !point.is_geographic() {
        return Err(PointError::new(format!("{} takes x and y, not longitude and latitude", crs_name(srid))));
    }
    if point.is_geographic() && !(-90.0..=90.0).contains(&y) {
        return Err(PointError::new(format!("latitude {y} is not in -90 to 90")));
    }
    let x = if point.is_geographic() && !(-180.0..=180.0).contains(&x) {
        (x + 180.0).rem_euclid(360.0) - 180.0
    } else {
        x
    };
    Ok(Some(Point { x, ..point }))
}

fn named_system(map: &Map) -> Result<Option<u32>, PointError> {
    let systems = [CARTESIAN, CARTESIAN_3D, WGS_84, WGS_84_3D];
    let found = match (map.get("srid"), map.get("crs")) {
        (None, None) => return Ok(None),
        (Some(Value::Int(srid)), _) => systems.into_iter().find(|known| i64::from(*known) == *srid),
        (None, Some(Value::String(name))) => {
            systems.into_iter().find(|known| crs_name(*known).eq_ignore_ascii_case(name))
        }
        _ => None,
    };
    found.map(Some).ok_or_else(|| PointError::new("unknown coordinate reference system"))
}

/// A coordinate or the coordinate system by name; null for `z` of a point in the plane.
///
/// # Errors
/// A name that points do not have, or not in this system.
pub fn component(point: &Point, name: &str) -> Result<Value, PointError> {
    Ok(match name {
        "x" => Value::Float(point.x),
        "y" => Value::Float(point.y),
        "z" => point.z.into(),
        "longitude" if point.is_geographic() => Value::Float(point.x),
        "latitude" if point.is_geographic() => Value::Float(point.y),
        "height" if point.is_geographic() => point.z.into(),
        "crs" => Value::string(crs_name(point.srid)),
        "srid" => Value::from(point.srid),
        _ => {
            return Err(PointError::new(format!(
                "No such field: {name} (of a {} point)",
                crs_name(point.srid)
            )));
        }
    })
}

/// Distance: Euclidean, or in metres on the globe (haversine; with heights, at their mean, and Pythagoras). `None` between
/// different systems.
pub fn distance(a: &Point, b: &Point) -> Option<f64> {
    if a.srid != b.srid {
        return None;
    }
    let rise = b.z.unwrap_or(0.0) - a.z.unwrap_or(0.0);
    if !a.is_geographic() {
        return Some((b.x - a.x).hypot(b.y - a.y).hypot(rise));
    }
    let height = (a.z.unwrap_or(0.0) + b.z.unwrap_or(0.0)) / 2.0;
    let haversine = |angle: f64| (angle / 2.0).sin().powi(2);
    let (from, to) = (a.y.to_radians(), b.y.to_radians());
    let h = haversine(to - from) + from.cos() * to.cos() * haversine((b.x - a.x).to_radians());
    let ground = 2.0 * (EARTH_RADIUS + height) * h.sqrt().min(1.0).asin();
    Some(ground.hypot(rise))
}

/// Is the point inside the box, borders included? On the globe, a box may cross the 180th meridian. `None` between different
/// systems.
pub fn within_box(point: &Point, low: &Point, high: &Point) -> Option<bool> {
    if point.srid != low.srid || point.srid != high.srid {
        return None;
    }
    let inside = |low: f64, value: f64, high: f64| low <= value && value <= high;
    let crosses = point.is_geographic() && low.x > high.x;
    let x = if crosses { point.x >= low.x || point.x <= high.x } else { inside(low.x, point.x, high.x) };
    let z = match (low.z, point.z, high.z) {
        (Some(low), Some(value), Some(high)) => inside(low, value, high),
        _ => true,
    };
    Some(x && z && inside(low.y, point.y, high.y))
}
