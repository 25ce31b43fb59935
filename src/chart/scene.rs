//! A laid-out figure: shapes in CSS pixels, which any plotters backend paints.
//!
//! Layout is done once and knows no backend, so that only the few lines of [`Scene::draw`] are compiled for each.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBAColor, ShapeStyle, TextStyle};

use super::palette::{Palette, Rgb};

/// Fonts of the reader's system, with those for Chinese.
const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'PingFang SC', \
                     'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif";

/// plotters' SVG backend divides font sizes by this.
const SVG_FONT_SCALE: f64 = 1.24;

/// A colour and how much of it covers what is below (0 to 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Paint(pub(super) Rgb, pub(super) f64);

impl From<Rgb> for Paint {
    fn from(colour: Rgb) -> Self {
        Self(colour, 1.0)
    }
}

impl Paint {
    fn plotters(self) -> RGBAColor {
        self.0.plotters().mix(self.1)
    }
}

/// Which end of a text its position means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

/// A point in CSS pixels.
pub(super) type Point = (f64, f64);

/// One line of text, centred on its height.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Label {
    pub(super) text: String,
    pub(super) at: Point,
    pub(super) align: Align,
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) colour: Rgb,
}

/// What can be painted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Rect(Point, Point, Paint),
    Area(Vec<Point>, Paint),
    Line(Vec<Point>, Paint, f64),
    Dot(Point, f64, Paint),
    Label(Label),
}

/// A figure, laid out for one size, theme and language.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Width in CSS pixels.
    pub width: u32,
    /// Height in CSS pixels.
    pub height: u32,
    /// What the figure is, in a few words.
    pub title: String,
    /// What the figure shows, in words, for those who do not see it.
    pub label: String,
    background: Rgb,
    pub(super) shapes: Vec<Shape>,
}

impl Scene {
    pub(super) fn new(size: (u32, u32), palette: &Palette) -> Self {
        Self {
            width: size.0,
            height: size.1,
            title: String::new(),
            label: String::new(),
            background: palette.background,
            shapes: Vec::with_capacity(64),
        }
    }

    pub(super) fn rect(&mut self, from: Point, to: Point, paint: impl Into<Paint>) {
        self.shapes.push(Shape::Rect(from, to, paint.into()));
    }

    /// A rectangle's edge, one pixel wide (SVG rectangles of plotters have no stroke width).
    pub(super) fn outline(&mut self, (x0, y0): Point, (x1, y1): Point, paint: impl Into<Paint>) {
        let corners = vec![(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)];
        self.shapes.push(Shape::Line(corners, paint.into(), 1.0));
    }

    pub(super) fn line(&mut self, points: Vec<Point>, paint: impl Into<Paint>, width: f64) {
        self.shapes.push(Shape::Line(points, paint.into(), width));
    }

    pub(super) fn dot(&mut self, centre: Point, radius: f64, paint: impl Into<Paint>) {
        self.shapes.push(Shape::Dot(centre, radius, paint.into()));
    }

    pub(super) fn text(&mut self, text: &str, at: Point, align: Align, size: f64, colour: Rgb) {
        let text = text.to_owned();
        self.shapes.push(Shape::Label(Label { text, at, align, size, bold: false, colour }));
    }

    pub(super) fn heading(&mut self, text: &str, at: Point, align: Align, size: f64, colour: Rgb) {
        let text = text.to_owned();
        self.shapes.push(Shape::Label(Label { text, at, align, size, bold: true, colour }));
    }

    /// Paints the figure on any backend whose size is that of the scene times `scale` (the device's pixel ratio).
    /// The background stays as it is.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn draw<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        scale: f64,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        self.paint(root, scale, scale)
    }

    /// Fills the background in the theme's colour: for a picture that leaves the page.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn fill<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        root.fill(&self.background.plotters())
    }

    /// The figure as a standalone SVG document, with its title and description.
    pub fn svg(&self) -> String {
        let mut out = String::with_capacity(16 * 1024);
        {
            let root = SVGBackend::with_string(&mut out, (self.width, self.height)).into_drawing_area();
            // Writing to a string does not fail.
            let _ = self.fill(&root);
            let _ = self.paint(&root, 1.0, SVG_FONT_SCALE);
            let _ = root.present();
        }
        if let Some(end) = out.find('>') {
            let described = format!(
                " role=\"img\"><title>{}</title><desc>{}</desc",
                escape(&self.title),
                escape(&self.label)
            );
            out.insert_str(end, &described);
        }
        out
    }

    fn paint<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        scale: f64,
        font_scale: f64,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let at = |(x, y): Point| (pixels(x * scale), pixels(y * scale));
        let all = |points: &[Point]| points.iter().map(|point| at(*point)).collect::<Vec<_>>();
        for shape in &self.shapes {
            match shape {
                Shape::Rect(from, to, paint) => {
                    root.draw(&Rectangle::new([at(*from), at(*to)], paint.plotters().filled()))?;
                }
                Shape::Area(points, paint) => {
                    root.draw(&Polygon::new(all(points), paint.plotters().filled()))?;
                }
                Shape::Line(points, paint, width) => {
                    let stroke_width = pixels(width * scale).max(1).unsigned_abs();
                    let style = ShapeStyle { color: paint.plotters(), filled: false, stroke_width };
                    root.draw(&PathElement::new(all(points), style))?;
                }
                Shape::Dot(centre, radius, paint) => {
                    let style = paint.plotters().filled();
                    root.draw(&Circle::new(at(*centre), pixels(radius * scale), style))?;
                }
                Shape::Label(label) => {
                    let style = if label.bold { FontStyle::Bold } else { FontStyle::Normal };
                    let font = FontDesc::new(FontFamily::Name(FONTS), label.size * font_scale, style);
                    let side = match label.align {
                        Align::Left => HPos::Left,
                        Align::Middle => HPos::Center,
                        Align::Right => HPos::Right,
                    };
                    let colour = label.colour.plotters();
                    let style = TextStyle::from(font).color(&colour).pos(Pos::new(side, VPos::Center));
                    root.draw_text(&label.text, &style, at(label.at))?;
                }
            }
        }
        Ok(())
    }
}

/// The nearest whole pixel.
fn pixels(value: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a cast saturates, and no canvas is that large")]
    let pixels = value.round() as i32;
    pixels
}

/// Text of an SVG element.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
