//! A chart of events over time, as an SVG.
//!
//! In: series of moments, each with a name. Out: a picture in which each is a rising line: how many so far. With axes, ticks and a
//! legend, and a band for the time in which something went on. Not here: scales that are found out, or any other picture.

use std::fmt::Write;
use std::time::Duration;

const LEFT: u32 = 60;
const TOP: u32 = 40;
const WIDTH: u32 = 700;
const HEIGHT: u32 = 240;
const COLOURS: [&str; 4] = ["firebrick", "steelblue", "seagreen", "goldenrod"];

/// See the module's header.
#[derive(Debug)]
pub struct Chart {
    body: String,
    band: Duration,
    most: usize,
    series: usize,
}

impl Chart {
    /// With a title, a band of this length from the beginning on, and so many events at most. Time goes on for half as long again.
    #[must_use]
    pub fn new(title: &str, band: Duration, most: usize) -> Self {
        let (band, most) = (band.max(Duration::from_millis(1)), most.max(1));
        let mut chart = Chart {
            body: String::new(),
            band,
            most,
            series: 0,
        };
        let (bottom, right) = (TOP + HEIGHT, LEFT + WIDTH);
        let end = chart.x(band);
        chart.write(format_args!(
            r##"<rect x="{LEFT}" y="{TOP}" width="{}" height="{HEIGHT}" fill="#f4ecd8"/>"##,
            end - f64::from(LEFT)
        ));
        chart.text(LEFT.into(), 24, "start", title);
        chart.write(format_args!(
            r#"<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="black"/>"#
        ));
        for quarter in 0..=6 {
            let at = band * quarter / 4;
            chart.text(
                chart.x(at),
                bottom + 18,
                "middle",
                &format!("{} ms", at.as_millis()),
            );
        }
        for quarter in 0..=4 {
            let count = most * quarter / 4;
            let y = chart.y(count) as u32 + 4;
            chart.text(f64::from(LEFT) - 8.0, y, "end", &count.to_string());
        }
        chart
    }

    fn x(&self, at: Duration) -> f64 {
        let part = at.as_secs_f64() / (1.5 * self.band.as_secs_f64());
        f64::from(LEFT) + f64::from(WIDTH) * part.min(1.0)
    }

    fn y(&self, count: usize) -> f64 {
        f64::from(TOP + HEIGHT) - f64::from(HEIGHT) * count as f64 / self.most as f64
    }

    fn write(&mut self, what: std::fmt::Arguments<'_>) {
        // A string takes all there is.
        let _ = self.body.write_fmt(what);
        self.body.push('\n');
    }

    fn text(&mut self, x: f64, y: u32, anchor: &str, text: &str) {
        self.write(format_args!(
            r#"<text x="{x:.0}" y="{y}" text-anchor="{anchor}" font-family="sans-serif" font-size="13">{text}</text>"#
        ));
    }

    /// Draws when events came, in their order.
    pub fn add(&mut self, name: &str, moments: &[Duration]) {
        let colour = COLOURS[self.series % COLOURS.len()];
        let mut line = format!("M{LEFT} {}", TOP + HEIGHT);
        for (count, moment) in moments.iter().enumerate() {
            let _ = write!(line, "H{:.1}V{:.1}", self.x(*moment), self.y(count + 1));
        }
        self.write(format_args!(
            r#"<path d="{line}" fill="none" stroke="{colour}" stroke-width="2"/>"#
        ));
        let (x, y) = (LEFT + WIDTH - 180, TOP + HEIGHT - 60 + 20 * self.series as u32);
        self.write(format_args!(
            r#"<path d="M{x} {}h24" stroke="{colour}" stroke-width="2"/>"#,
            y - 4
        ));
        self.text(f64::from(x + 32), y, "start", name);
        self.series += 1;
    }

    /// The whole picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let (width, height) = (LEFT + WIDTH + 40, TOP + HEIGHT + 40);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\">\n<rect width=\"100%\" height=\"100%\" \
             fill=\"white\"/>\n{}</svg>\n",
            self.body
        )
    }
}
