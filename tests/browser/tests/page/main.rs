//! A reader's walk through the built page, in a real browser.

mod access;
mod diagnose;
mod doctor;
mod embed;
mod fallback;
mod foot;
mod later;
mod links;
mod visit;
