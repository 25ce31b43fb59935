//! The frame of the full page: head, form, answer, foot.

use leptos::prelude::*;

use super::el::{View, all, el, part, words};
use super::tabs::{Tab, tabs};
use super::{
    State, accuracy, address, browser, detailed, diagnose, doctor, figure, headline, ledger, problems, quick,
    share, totals,
};
use crate::config::{Theme, Units, View as Shown};
use crate::text::{Lang, app as text};

const VIEWS: [Tab; 3] = [("quick", text::QUICK), ("detailed", text::DETAILED), ("diagnose", text::DIAGNOSE)];

/// The whole page.
pub(super) fn view(state: State) -> View {
    let skip = el("button")
        .attr("type", "button")
        .attr("class", "skip")
        .on("click", |_| browser::focus("headline"))
        .say(state, text::SKIP);
    let answer = part(move || match state.view.get() {
        Shown::Quick => quick::figure(state),
        Shown::Detailed | Shown::Diagnose => tensors(state),
    });
    let answer = el("div").attr("class", "answer").child(headline::view(state)).child(answer);
    let main = el("main").attr("class", "page").child(form(state)).child(answer);
    let foot = el("footer").attr("class", "foot").say(state, text::FOOT);
    all([skip.into(), head(state), main.into(), accuracy::view(state), foot.into(), share::toast(state)])
}

/// What is known of every tensor.
fn tensors(state: State) -> View {
    all([
        figure::view(state, figure::Parts { tabs: true, exports: true }),
        totals::view(state),
        problems::view(state),
        doctor::view(state),
        ledger::view(state),
    ])
}

fn head(state: State) -> View {
    let units = el("button")
        .attr("type", "button")
        .attr("data-action", "units")
        .live("aria-label", move || text::UNITS_ARE.fill(state.lang(), &[("unit", &state.units().word())]))
        .on_here("click", move |_| state.choose_units(other_unit(untrack(|| state.units()))))
        .child(words(move || state.units().word().to_owned()));
    let theme = el("button")
        .attr("type", "button")
        .attr("data-action", "theme")
        .live("aria-label", move || text::THEME_IS.fill(state.lang(), &[("theme", &theme_name(state))]))
        .on_here("click", move |_| state.choose_theme(next_theme(state.shown.get_untracked().theme)))
        .child(words(move || theme_name(state).to_owned()));
    let lang = el("button")
        .attr("type", "button")
        .attr("data-action", "lang")
        .live("lang", move || if state.lang() == Lang::En { "zh-CN" } else { "en" }.to_owned())
        .on_here("click", move |_| state.choose_lang(other_lang(untrack(|| state.lang()))))
        .say(state, text::OTHER_LANGUAGE);
    let brand = el("h1").attr("class", "brand");
    let brand = brand.child(el("b").text("trainmem")).text(" ").child(el("span").say(state, text::TAGLINE));
    let switches = el("div").attr("class", "switches").child(share::buttons(state));
    let switches = switches.child(units).child(theme).child(lang);
    el("header").attr("class", "top").child(brand).child(switches).into()
}

fn form(state: State) -> View {
    let choose = |state: State, word: &'static str| {
        if let Some(view) = Shown::parse(word) {
            address::show(state, view);
        }
    };
    let word = |state: State| state.view.get().word();
    let row = tabs(state, "view", (text::VIEWS, &VIEWS), word, choose, |_, _| true);
    let panel = el("div")
        .attr("class", "panel")
        .attr("role", "tabpanel")
        .attr("id", "view-panel")
        .live("aria-labelledby", move || format!("view-{}", state.view.get().word()))
        .child(part(move || match state.view.get() {
            Shown::Quick => quick::view(state),
            Shown::Detailed => detailed::view(state),
            Shown::Diagnose => diagnose::view(state),
        }));
    el("section")
        .attr("class", "form")
        .label("aria-label", state, text::FORM)
        .child(el("div").attr("class", "views").child(row))
        .child(panel)
        .into()
}

const fn other_unit(units: Units) -> Units {
    match units {
        Units::Gib => Units::Gb,
        Units::Gb => Units::Gib,
    }
}

const fn other_lang(lang: Lang) -> Lang {
    match lang {
        Lang::En => Lang::Zh,
        Lang::Zh => Lang::En,
    }
}

const fn next_theme(theme: Theme) -> Theme {
    match theme {
        Theme::Auto => Theme::Light,
        Theme::Light => Theme::Dark,
        Theme::Dark => Theme::Auto,
    }
}

fn theme_name(state: State) -> &'static str {
    state.say(match state.shown.get().theme {
        Theme::Auto => text::AUTO,
        Theme::Light => text::LIGHT,
        Theme::Dark => text::DARK,
    })
}
