//! The detailed view: model, training, cluster; every key that the vocabulary has, from its table.

use leptos::prelude::*;
use web_sys::HtmlDetailsElement;

use super::field::{brief, field, without_effect};
use super::{State, browser, diagnose};
use crate::config::{Key, Section};
use crate::text::{app as text, config as words};

/// The fields of `config.json` that are asked for by name; the others come with a pasted file.
const SHAPE: [&str; 8] = [
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "tie_word_embeddings",
];

/// Keys that a closed section names.
const fn named(section: Section) -> &'static [Key] {
    match section {
        Section::Model => &[Key::Model],
        Section::Training => &[Key::Precision, Key::Optimizer],
        Section::Cluster => &[Key::Gpu],
        Section::Advanced | Section::Page => &[],
    }
}

/// The sections.
pub(super) fn view(state: State) -> AnyView {
    let narrow = browser::media("(max-width: 899px)");
    let wide = !narrow.get_untracked();
    let counted = Memo::new(move |_| state.config.with(|config| config.params.is_some()));
    let model = move || {
        view! {
            {fields(state, &["model"])}
            {move || counted.get().then(|| fields(state, &["params"]))}
            {shape(state)}
            {diagnose::drop_config(state)}
        }
        .into_any()
    };
    let training = move || fields(state, &keys(Section::Training));
    let cluster = move || fields(state, &keys(Section::Cluster));
    let advanced = keys(Section::Advanced);
    let advanced = (!advanced.is_empty()).then(|| {
        section(state, narrow, Section::Advanced, false, move || fields(state, &keys(Section::Advanced)))
    });
    view! {
        {section(state, narrow, Section::Model, true, model)}
        {section(state, narrow, Section::Training, wide, training)}
        {section(state, narrow, Section::Cluster, wide, cluster)}
        {advanced}
        {unfolding(
            narrow,
            false,
            move || view! { {state.say(text::NOT_COUNTED_YET)} }.into_any(),
            move || uncounted(state),
        )}
    }
    .into_any()
}

/// The keys of a section that change the figures.
fn keys(section: Section) -> Vec<&'static str> {
    let keys = Key::ALL.iter().filter(|key| key.section() == section && !without_effect(**key));
    keys.map(|key| key.word()).collect()
}

fn fields(state: State, names: &[&'static str]) -> AnyView {
    let fields: Vec<AnyView> = names.iter().map(|name| field(state, name)).collect();
    view! { <div class="group pair">{fields}</div> }.into_any()
}

/// The fields of one's own model; they stand open where the configuration has some.
fn shape(state: State) -> AnyView {
    let own = move || state.config.with(|config| !config.architecture.is_empty());
    let clear = move |_| state.change(|config| config.architecture.clear());
    view! {
        <details open=untrack(own)>
            <summary>{move || state.say(text::SHAPE)}</summary>
            <p class="help">{move || state.say(text::SHAPE_HELP)}</p>
            {fields(state, &SHAPE)}
            {move || {
                own()
                    .then(|| {
                        view! {
                            <button type="button" on:click=clear>
                                {state.say(text::BACK_TO_PRESET)}
                            </button>
                        }
                    })
            }}
        </details>
    }
    .into_any()
}

/// Keys that are read and kept but not counted: shown for what they are.
fn uncounted(state: State) -> AnyView {
    let parts = [Section::Training, Section::Cluster, Section::Advanced].map(|section| {
        let names = Key::ALL.iter().filter(|key| key.section() == section && without_effect(**key));
        let names: Vec<&'static str> = names.map(|key| key.word()).collect();
        (!names.is_empty()).then(|| {
            view! {
                <div class="group"><h3>{move || state.say(words::section(section))}</h3></div>
                {fields(state, &names)}
            }
        })
    });
    view! {
        <p class="help">{move || state.say(text::NOT_COUNTED_HELP)}</p>
        {parts.into_iter().collect::<Vec<_>>()}
    }
    .into_any()
}

fn section(
    state: State,
    narrow: ReadSignal<bool>,
    section: Section,
    open: bool,
    body: impl Fn() -> AnyView + Send + 'static,
) -> AnyView {
    let head = move || {
        let brief = named(section).iter().map(|key| brief(state, *key)).collect::<Vec<_>>().join(" · ");
        view! {
            {state.say(words::section(section))}
            <span class="brief">{brief}</span>
        }
        .into_any()
    };
    unfolding(narrow, open, head, body)
}

/// A section that is built when it is first opened. On a phone only one stands open at a time.
fn unfolding(
    narrow: ReadSignal<bool>,
    open: bool,
    head: impl Fn() -> AnyView + Send + 'static,
    body: impl Fn() -> AnyView + Send + 'static,
) -> AnyView {
    let built = RwSignal::new(open);
    let details = NodeRef::<leptos::html::Details>::new();
    let toggled = move |_| {
        if details.get_untracked().is_some_and(|details: HtmlDetailsElement| details.open()) {
            built.set(true);
        }
    };
    let was_built = Memo::new(move |_| built.get());
    view! {
        <details node_ref=details open=open name=move || narrow.get().then_some("section") on:toggle=toggled>
            <summary>{head}</summary>
            {move || was_built.get().then(&body)}
        </details>
    }
    .into_any()
}
