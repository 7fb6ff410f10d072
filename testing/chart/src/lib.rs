//! # chart: curves and bars as SVG
//!
//! Benches and examples draw their figures with it. A [`Chart`] is data; [`Chart::svg`] draws it. The picture carries its colours for light and dark, and
//! for paper, so that it can stand in a page or alone.
//!
//! Invariant: the same chart is the same text. Values that are not finite, and on a logarithmic axis those of zero or less, are left out.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

use plotters::coord::Shift;
use plotters::prelude::*;

/// Pixels.
const SIZE: (u32, u32) = (720, 360);
/// Room for the labels of the axes, in pixels.
const LABELS: (u32, u32) = (44, 72);
const FONT_PIXELS: i32 = 13;
const TITLE_PIXELS: i32 = 16;
/// Most series in one chart, limited by the number of distinct colours.
pub const SERIES_MAX: usize = 6;
/// Points of one series that are drawn; of more, evenly spaced ones are.
pub const POINTS_MAX: usize = 500;

/// Colours as they are drawn, and as they are shown in light and in dark.
const INK: (RGBColor, &str, &str) = (RGBColor(1, 1, 1), "#1f2328", "#e6edf3");
const GRID: (RGBColor, &str, &str) = (RGBColor(2, 2, 2), "#d1d5da", "#3d444d");
const PAPER: (RGBColor, &str, &str) = (RGBColor(3, 3, 3), "#ffffff", "#0d1117");
const COLOURS: [(RGBColor, &str, &str); SERIES_MAX] = [
    (RGBColor(10, 1, 1), "#0969da", "#58a6ff"),
    (RGBColor(11, 1, 1), "#bc4c00", "#f0883e"),
    (RGBColor(12, 1, 1), "#1a7f37", "#56d364"),
    (RGBColor(13, 1, 1), "#8250df", "#bc8cff"),
    (RGBColor(14, 1, 1), "#bf3989", "#f778ba"),
    (RGBColor(15, 1, 1), "#6e7781", "#8b949e"),
];

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// Title with its unit.
    pub title: String,
    /// Powers of ten.
    pub is_log: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(title: &str) -> Axis {
        Axis { title: title.into(), is_log: false }
    }
    /// A logarithmic axis.
    pub fn log(title: &str) -> Axis {
        Axis { title: title.into(), is_log: true }
    }
}

/// How the values of a series are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Points joined by lines.
    Line,
    /// Joined by dashes: simulations, and figures of papers.
    Dashed,
    /// A bar for each point, beside those of other series.
    Bars,
}

/// Values under one name.
#[derive(Clone, Debug)]
pub struct Series {
    /// As the legend says it.
    pub name: String,
    /// How it is drawn.
    pub look: Look,
    /// By both axes; of bars, the first number is the place of a category.
    pub points: Vec<(f64, f64)>,
}

/// A picture.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upward.
    pub y: Axis,
    /// Names of the categories of bars; none for curves.
    pub categories: Vec<String>,
    /// The series; up to [`SERIES_MAX`].
    pub series: Vec<Series>,
}

impl Chart {
    /// The part of all values that is no larger than each: a curve that rises to 1.
    pub fn distribution(name: &str, mut values: Vec<f64>) -> Series {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len() as f64;
        let points = values.into_iter().enumerate().map(|(at, value)| (value, (at + 1) as f64 / count));
        Series { name: name.into(), look: Look::Line, points: points.collect() }
    }
    /// Renders the chart as SVG text.
    ///
    /// # Errors
    /// There is no series, or there are more than [`SERIES_MAX`].
    pub fn svg(&self) -> Result<String, String> {
        if self.series.len() > SERIES_MAX {
            return Err(format!("a chart has at most {SERIES_MAX} series, not {}", self.series.len()));
        }
        let mut drawn = self.clone();
        drawn.series.iter_mut().for_each(|series| series.points = self.shown(&series.points));
        let mut text = String::new();
        {
            let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            drawn.draw(&area).map_err(|error| format!("{}: {error}", self.title))?;
            area.present().map_err(|error| error.to_string())?;
        }
        Ok(with_colours(text))
    }
    /// Those points that can be drawn, thinned to [`POINTS_MAX`]; the last one stays.
    fn shown(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let fits = |axis: &Axis, value: f64| value.is_finite() && (!axis.is_log || value > 0.0);
        let fits = |(x, y): &&(f64, f64)| fits(&self.x, *x) && fits(&self.y, *y);
        let points: Vec<(f64, f64)> = points.iter().filter(fits).copied().collect();
        let step = points.len().div_ceil(POINTS_MAX).max(1);
        let last = points.len().saturating_sub(1);
        points
            .iter()
            .enumerate()
            .filter(|(at, _)| at % step == 0 || *at == last)
            .map(|(_, point)| *point)
            .collect()
    }
    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn std::error::Error>> {
        area.fill(&PAPER.0)?;
        let [x, y] = [self.range(0), self.range(1)];
        let is_drawn = |series: &Series| !series.points.is_empty();
        if !self.series.iter().any(is_drawn) {
            return Err("there is nothing to draw".into());
        }
        let mut builder = ChartBuilder::on(area);
        builder.caption(&self.title, ("sans-serif", TITLE_PIXELS, &INK.0)).margin(12);
        builder.x_label_area_size(LABELS.0).y_label_area_size(LABELS.1);
        // Four kinds of coordinates are four types.
        match (self.x.is_log, self.y.is_log) {
            (false, false) => self.draw_on(builder.build_cartesian_2d(x.0..x.1, y.0..y.1)?),
            (true, false) => self.draw_on(builder.build_cartesian_2d((x.0..x.1).log_scale(), y.0..y.1)?),
            (false, true) => self.draw_on(builder.build_cartesian_2d(x.0..x.1, (y.0..y.1).log_scale())?),
            (true, true) => {
                self.draw_on(builder.build_cartesian_2d((x.0..x.1).log_scale(), (y.0..y.1).log_scale())?)
            }
        }
    }
    /// From where to where an axis goes, with a little room.
    fn range(&self, dimension: usize) -> (f64, f64) {
        let axis = if dimension == 0 { &self.x } else { &self.y };
        if dimension == 0 && !self.categories.is_empty() {
            return (-0.5, self.categories.len() as f64 - 0.5);
        }
        let values = self.series.iter().flat_map(|series| &series.points);
        let values = values.map(|(x, y)| if dimension == 0 { *x } else { *y });
        let (low, high) =
            values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return (0.0, 1.0);
        }
        // The least bar has a height, too.
        let below = if self.series.iter().any(|series| series.look == Look::Bars) { 0.9 } else { 1.0 };
        match axis.is_log {
            true => (10_f64.powf((low * below).log10().floor()), 10_f64.powf((high * 1.05).log10().ceil())),
            false if dimension == 0 => (low, if high > low { high } else { low + 1.0 }),
            false => (low.min(0.0), if high > 0.0 { high * 1.08 } else { 1.0 }),
        }
    }
    fn draw_on<'a, X, Y>(
        &self,
        mut chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        X: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        let category = |at: &f64| {
            let is_whole = (at - at.round()).abs() < 1e-6 && *at >= 0.0;
            self.categories.get(at.round() as usize).filter(|_| is_whole).cloned().unwrap_or_default()
        };
        let mut mesh = chart.configure_mesh();
        mesh.axis_style(INK.0).light_line_style(TRANSPARENT).bold_line_style(GRID.0);
        mesh.label_style(("sans-serif", FONT_PIXELS, &INK.0)).x_desc(&*self.x.title).y_desc(&*self.y.title);
        let (by_category, by_number) = (|at: &f64| category(at), |at: &f64| number(*at));
        match self.categories.is_empty() {
            true => mesh.x_label_formatter(&by_number),
            // Twice as many, so that each category has one on it.
            false => {
                mesh.x_labels(2 * self.categories.len() + 1).disable_x_mesh().x_label_formatter(&by_category)
            }
        };
        mesh.y_label_formatter(&by_number).draw()?;
        let bars = self.series.iter().filter(|series| series.look == Look::Bars).count();
        let mut bar = 0;
        for (series, (colour, ..)) in self.series.iter().zip(COLOURS) {
            let points = series.points.iter().copied();
            let style = colour.stroke_width(2);
            let drawn = match series.look {
                Look::Line => chart.draw_series(LineSeries::new(points, style))?,
                Look::Dashed => chart.draw_series(DashedLineSeries::new(points, 6, 4, style))?,
                Look::Bars => {
                    let (width, low) = (0.8 / bars as f64, self.range(1).0);
                    let left = bar as f64 * width - 0.4;
                    bar += 1;
                    let one = |(x, y): (f64, f64)| {
                        Rectangle::new([(x + left, low), (x + left + 0.92 * width, y)], colour.filled())
                    };
                    chart.draw_series(points.map(one))?
                }
            };
            drawn
                .label(&series.name)
                .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 14, y + 4)], colour.filled()));
        }
        if self.series.len() > 1 {
            let mut labels = chart.configure_series_labels();
            labels.background_style(PAPER.0).border_style(GRID.0).position(SeriesLabelPosition::UpperLeft);
            labels.label_font(("sans-serif", FONT_PIXELS, &INK.0)).draw()?;
        }
        Ok(())
    }
}

/// A number as an axis says it: three digits, thousands as k, millions as M.
fn number(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = match scaled.abs() {
        size if size >= 100.0 => format!("{scaled:.0}"),
        size if size >= 1.0 => format!("{scaled:.1}"),
        _ => format!("{scaled:.4}"),
    };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// Colours by name, so that a picture follows the page that it stands in.
fn with_colours(text: String) -> String {
    let [mut light, mut dark] = [String::new(), String::new()];
    let mut text = text;
    for (at, (colour, in_light, in_dark)) in [INK, GRID, PAPER].into_iter().chain(COLOURS).enumerate() {
        let RGBColor(red, green, blue) = colour;
        text = text.replace(
            &format!("\"#{red:02X}{green:02X}{blue:02X}\""),
            &format!("\"var(--c{at},{in_light})\""),
        );
        light += &format!("--c{at}:{in_light};");
        dark += &format!("--c{at}:{in_dark};");
    }
    let style = format!(
        "<style>svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}@media print{{svg{{{light}}}}}</style>"
    );
    match text.find("<svg").and_then(|at| text[at..].find('>').map(|end| at + end + 1)) {
        Some(end) => text.insert_str(end, &style),
        None => text += &style,
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(looks: &[Look], is_log: bool) -> Chart {
        let series = |(at, look): (usize, &Look)| Series {
            name: format!("s{at} <&>"),
            look: *look,
            points: (0..2_000).map(|x| (f64::from(x), f64::from(x) * (at + 1) as f64)).collect(),
        };
        let axis = if is_log { Axis::log } else { Axis::linear };
        Chart {
            title: "a < b".into(),
            x: axis("x"),
            y: axis("y"),
            categories: Vec::new(),
            series: looks.iter().enumerate().map(series).collect(),
        }
    }

    #[test]
    fn all_looks_are_drawn_on_all_axes() {
        for is_log in [false, true] {
            let text = chart(&[Look::Line, Look::Dashed, Look::Bars], is_log).svg().unwrap();
            assert!(text.contains("<style>svg{") && text.contains("a &lt; b"), "{}", &text[..400]);
            assert!(text.contains("var(--c3,") && text.contains("var(--c5,"));
            assert!(text.len() < 400_000, "{}", text.len());
            assert_eq!(text, chart(&[Look::Line, Look::Dashed, Look::Bars], is_log).svg().unwrap());
        }
    }

    #[test]
    fn what_cannot_be_drawn_says_so_or_is_left_out() {
        assert!(Chart::default().svg().unwrap_err().contains("nothing to draw"));
        assert!(chart(&[Look::Line; SERIES_MAX + 1], false).svg().unwrap_err().contains("at most"));
        assert!(chart(&[Look::Line; SERIES_MAX], false).svg().is_ok());
        let mut odd = chart(&[Look::Line], true);
        odd.series[0].points = vec![(0.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)];
        assert!(odd.svg().is_err());
        odd.series[0].points.push((1.0, 2.0));
        assert!(odd.svg().is_ok());
    }

    /// Of a value that is the end of an axis, the bar is to be seen.
    #[test]
    fn the_least_bar_has_a_height() {
        let mut chart = chart(&[Look::Bars], true);
        chart.series[0].points = vec![(1.0, 100.0), (2.0, 7_000.0)];
        assert_eq!(chart.range(1), (10.0, 10_000.0));
        chart.series[0].look = Look::Line;
        assert_eq!(chart.range(1), (100.0, 10_000.0));
    }

    #[test]
    fn points_are_thinned_and_the_last_stays() {
        let series = Chart::distribution("d", (0..10_001).rev().map(f64::from).collect());
        let chart = Chart { series: vec![series], ..Chart::default() };
        let shown = chart.shown(&chart.series[0].points);
        assert!(shown.len() <= POINTS_MAX + 1 && shown.last() == Some(&(10_000.0, 1.0)), "{}", shown.len());
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.25, 1.0, 1234.0, 25_000.0, 3.5e6, 2e9].map(number);
        assert_eq!(shown, ["0", "0.25", "1", "1234", "25k", "3.5M", "2G"]);
    }
}
