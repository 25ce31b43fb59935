//! The frame of the full page: head, form, answer, foot.

use leptos::prelude::*;

use super::tabs::{Tab, tabs};
use super::{
    State, address, browser, detailed, diagnose, figure, headline, ledger, problems, quick, share, totals,
};
use crate::config::{Theme, Units, View};
use crate::text::{Lang, app as text, config as words};

const VIEWS: [Tab; 3] = [("quick", text::QUICK), ("detailed", text::DETAILED), ("diagnose", text::DIAGNOSE)];

/// The whole page.
pub(super) fn view(state: State) -> AnyView {
    let skip = move |_| browser::focus("headline");
    view! {
        <button type="button" class="skip" on:click=skip>{move || state.say(text::SKIP)}</button>
        {head(state)}
        <main class="page">
            {form(state)}
            <div class="answer">
                {headline::view(state)}
                {move || match state.view.get() {
                    View::Quick => quick::figure(state),
                    View::Detailed | View::Diagnose => tensors(state),
                }}
            </div>
        </main>
        <footer class="foot">{move || state.say(text::FOOT)}</footer>
        {share::toast(state)}
    }
    .into_any()
}

fn head(state: State) -> AnyView {
    view! {
        <header class="top">
            <h1 class="brand"><b>"trainmem"</b> <span>{move || state.say(text::TAGLINE)}</span></h1>
            <div class="switches">
                {share::buttons(state)}
                <button
                    type="button"
                    data-action="units"
                    aria-label=move || {
                        text::UNITS_ARE.fill(state.lang.get(), &[("unit", &state.units.get().word())])
                    }
                    on:click=move |_| state.choose_units(other_unit(state.units.get_untracked()))
                >
                    {move || state.units.get().word()}
                </button>
                <button
                    type="button"
                    data-action="theme"
                    aria-label=move || text::THEME_IS.fill(state.lang.get(), &[("theme", &theme_name(state))])
                    on:click=move |_| state.choose_theme(next_theme(state.theme.get_untracked()))
                >
                    {move || theme_name(state)}
                </button>
                <button
                    type="button"
                    data-action="lang"
                    lang=move || if state.lang.get() == Lang::En { "zh-CN" } else { "en" }
                    on:click=move |_| state.choose_lang(other_lang(state.lang.get_untracked()))
                >
                    {move || text::OTHER_LANGUAGE.get(state.lang.get())}
                </button>
            </div>
        </header>
    }
    .into_any()
}

/// What is known of every tensor.
fn tensors(state: State) -> AnyView {
    view! {
        {figure::view(state, figure::Parts { tabs: true, exports: true })}
        {totals::view(state)}
        {problems::view(state)}
        {ledger::view(state)}
    }
    .into_any()
}

fn form(state: State) -> AnyView {
    let chosen = Signal::derive(move || state.view.get().word());
    let choose = |state: State, word: &'static str| {
        if let Some(view) = View::parse(word) {
            address::show(state, view);
        }
    };
    view! {
        <section class="form" aria-label=move || state.say(text::FORM)>
            <div class="views">{tabs(state, "view", text::VIEWS, &VIEWS, chosen, choose)}</div>
            <div
                class="panel"
                role="tabpanel"
                id="view-panel"
                aria-labelledby=move || format!("view-{}", chosen.get())
            >
                {move || match state.view.get() {
                    View::Quick => quick::view(state),
                    View::Detailed => detailed::view(state),
                    View::Diagnose => diagnose::view(state),
                }}
            </div>
        </section>
    }
    .into_any()
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
    state.say(words::choice(crate::config::Key::Theme, state.theme.get().word()))
}
