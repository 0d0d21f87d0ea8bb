//! Charts as SVG, drawn here and not in the browser: they are there without scripts, on paper and in mail.
//!
//! Colours and fonts come from the classes in `assets/report.css`. Texts are escaped; every chart has a title and a
//! description for who cannot see it.

mod scale;

use std::fmt::Write as _;

pub(crate) use scale::{Scale, Unit};

use crate::escape::markup;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
/// Labels whose middle is this near to the right end of the axis end at the edge of the picture instead.
const EDGE: f64 = 30.0;

/// One axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    pub(crate) unit: Unit,
}

/// Something drawn over the axes.
#[derive(Clone, Debug)]
pub(crate) enum Layer {
    /// Points joined by a line. A gap parts it where a point has no value.
    Line { class: String, points: Vec<(f64, Option<f64>)> },
    /// The same, filled down to the axis.
    Area { class: String, points: Vec<(f64, Option<f64>)> },
    /// Bars `(from, to, height, what it is)`.
    Bars { class: String, bars: Vec<(f64, f64, f64, String)> },
    /// A vertical line.
    Mark { class: String, x: f64 },
    /// A dot with what it is.
    Dot { class: String, x: f64, y: f64, title: String },
}

/// A chart.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// Unique in the page.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// What can be seen in it, in words.
    pub(crate) description: String,
    pub(crate) height: f64,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) layers: Vec<Layer>,
    /// Fields of the series that the pointer tells, `name:field`; empty for charts that are not over time.
    pub(crate) fields: &'static str,
}

impl Chart {
    /// The chart as an `svg` element.
    pub(crate) fn svg(&self) -> String {
        let mut svg = String::new();
        let (id, title, description) = (self.id, markup(&self.title), markup(&self.description));
        let _ = write!(
            svg,
            "<svg class=\"chart\" id=\"{id}\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"",
            self.height,
        );
        if !self.fields.is_empty() {
            let (from, to) = self.x_ends();
            let _ = write!(
                svg,
                " tabindex=\"0\" data-fields=\"{}\" data-from=\"{from}\" data-to=\"{to}\" data-left=\"{LEFT}\" data-right=\"{}\" data-top=\"{TOP}\" data-bottom=\"{}\"",
                self.fields,
                WIDTH - RIGHT,
                self.height - BOTTOM,
            );
        }
        let _ = write!(svg, "><title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>");
        self.grid(&mut svg);
        for layer in &self.layers {
            self.layer(layer, &mut svg);
        }
        svg.push_str("</svg>");
        svg
    }

    fn x_ends(&self) -> (f64, f64) {
        match self.x.scale {
            Scale::Linear { min, max } | Scale::Log { min, max } => (min, max),
            Scale::Nines { max } => (0.0, max),
        }
    }

    fn grid(&self, svg: &mut String) {
        let bottom = self.height - BOTTOM;
        svg.push_str("<g class=\"grid\">");
        for (value, label) in self.y.scale.ticks(self.y.unit) {
            let y = self.y_of(value);
            let _ = write!(
                svg,
                "<path d=\"M{LEFT} {y:.1}H{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"y\">{label}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
            );
        }
        for (value, label) in self.x.scale.ticks(self.x.unit) {
            let x = self.x_of(value);
            let at_edge = x > WIDTH - RIGHT - EDGE;
            let (class, label_x) = if at_edge { ("x end", WIDTH - 1.0) } else { ("x", x) };
            let _ = write!(
                svg,
                "<path d=\"M{x:.1} {bottom:.1}v5\"/><text x=\"{label_x:.1}\" y=\"{:.1}\" class=\"{class}\">{label}</text>",
                bottom + 22.0,
            );
        }
        svg.push_str("</g>");
    }

    fn layer(&self, layer: &Layer, svg: &mut String) {
        match layer {
            Layer::Line { class, points } => {
                let _ = write!(svg, "<path class=\"line {class}\" d=\"{}\"/>", self.path(points, false));
            }
            Layer::Area { class, points } => {
                let _ = write!(svg, "<path class=\"area {class}\" d=\"{}\"/>", self.path(points, true));
            }
            Layer::Bars { class, bars } => {
                let _ = write!(svg, "<g class=\"bars {class}\">");
                for bar in bars {
                    self.bar(bar, svg);
                }
                svg.push_str("</g>");
            }
            Layer::Mark { class, x } => {
                let (x, bottom) = (self.x_of(*x), self.height - BOTTOM);
                let _ = write!(svg, "<path class=\"mark {class}\" d=\"M{x:.1} {TOP}V{bottom:.1}\"/>");
            }
            Layer::Dot { class, x, y, title } => {
                let (x, y, title) = (self.x_of(*x), self.y_of(*y), markup(title));
                let _ = write!(
                    svg,
                    "<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{title}</title></circle>"
                );
            }
        }
    }

    fn bar(&self, (from, to, height, title): &(f64, f64, f64, String), svg: &mut String) {
        let (left, right, top) = (self.x_of(*from), self.x_of(*to), self.y_of(*height));
        let bottom = self.height - BOTTOM;
        let _ = write!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            (right - left - 0.6).max(0.6),
            (bottom - top).max(0.0),
            markup(title),
        );
    }

    /// Pieces of points that follow each other with a value.
    fn path(&self, points: &[(f64, Option<f64>)], fill: bool) -> String {
        let mut path = String::new();
        for piece in points.split(|(_, y)| y.is_none()).filter(|piece| !piece.is_empty()) {
            let places: Vec<(f64, f64)> =
                piece.iter().map(|(x, y)| (self.x_of(*x), self.y_of(y.unwrap_or_default()))).collect();
            for (number, (x, y)) in places.iter().enumerate() {
                let _ = write!(path, "{}{x:.1} {y:.1}", if number == 0 { 'M' } else { 'L' });
            }
            let (first, last) = (places[0].0, places[places.len() - 1].0);
            if fill {
                let bottom = self.height - BOTTOM;
                let _ = write!(path, "L{last:.1} {bottom:.1}L{first:.1} {bottom:.1}Z");
            } else if places.len() == 1 {
                path.push_str("h0.1"); // a point alone is a dot
            }
        }
        path
    }

    fn x_of(&self, value: f64) -> f64 {
        LEFT + self.x.scale.place(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y_of(&self, value: f64) -> f64 {
        let (top, bottom) = (TOP, self.height - BOTTOM);
        bottom - self.y.scale.place(value) * (bottom - top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(layers: Vec<Layer>) -> String {
        let axis = Axis { scale: Scale::Linear { min: 0.0, max: 10.0 }, unit: Unit::Count };
        let (title, description) = ("a < b".to_owned(), "c & d".to_owned());
        Chart { id: "t", title, description, height: 200.0, x: axis, y: axis, layers, fields: "" }.svg()
    }

    #[test]
    fn gaps_part_a_line_and_a_point_alone_is_seen() {
        let points = vec![(0.0, Some(0.0)), (1.0, None), (2.0, Some(10.0)), (10.0, Some(0.0))];
        let svg = chart(vec![Layer::Line { class: "p50".into(), points }]);
        assert!(svg.contains("d=\"M72.0 166.0h0.1M182.8 12.0L626.0 166.0\""), "{svg}");
    }

    #[test]
    fn titles_are_escaped_and_charts_are_well_formed() {
        let bars = vec![(0.0, 5.0, 3.0, "<x>".to_owned())];
        let svg = chart(vec![
            Layer::Bars { class: "latency".into(), bars },
            Layer::Mark { class: "p99".into(), x: 9.0 },
            Layer::Area { class: "rate".into(), points: vec![(0.0, Some(1.0)), (9.0, Some(2.0))] },
            Layer::Dot { class: "p50".into(), x: 1.0, y: 2.0, title: "\"q\"".into() },
        ]);
        assert!(roxmltree::Document::parse(&svg).is_ok(), "{svg}");
        assert!(svg.contains("a &lt; b") && svg.contains("&lt;x&gt;"));
    }
}
