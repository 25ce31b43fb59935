//! The detailed view: model, training, cluster; every key that the vocabulary has, from its table.

use leptos::prelude::*;

use super::el::{View, all, el, none, part, said, words};
use super::field::{brief, field, without_effect};
use super::{State, browser, diagnose, hub};
use crate::config::{Config, Key, Loss, Method, Recompute, Section};
use crate::text::{app as text, config as names};

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
pub(super) fn view(state: State) -> View {
    let wide = !state.narrow.get_untracked();
    let sections = [
        (Section::Model, true),
        (Section::Training, wide),
        (Section::Cluster, wide),
        (Section::Advanced, false),
    ];
    let sections = sections.map(|(section, open)| {
        let names = keys(section, true);
        if names.is_empty() {
            return none();
        }
        unfolding(Some(state.narrow), open, head(state, section), move || {
            if section == Section::Model { model(state) } else { fields(state, &names) }
        })
    });
    let uncounted =
        unfolding(Some(state.narrow), false, said(state, text::NOT_COUNTED_YET), move || uncounted(state));
    all([all(sections), uncounted])
}

/// The keys of a section that change the figures, or those that don't yet.
fn keys(section: Section, counted: bool) -> Vec<&'static str> {
    let keys = Key::ALL.iter().filter(|key| key.section() == section && without_effect(**key) != counted);
    keys.map(|key| key.word()).collect()
}

fn fields(state: State, names: &[&'static str]) -> View {
    let one = |&name: &&'static str| match Key::parse(name) {
        Some(key) if depends(key) => {
            let applies = Memo::new(move |_| state.config.with(|config| applies(config, key)));
            part(move || if applies.get() { field(state, name) } else { none() })
        }
        _ => field(state, name),
    };
    let fields: Vec<View> = names.iter().map(one).collect();
    el("div").attr("class", "group pair").child(fields).into()
}

/// Is the key of no use unless another has a certain value?
const fn depends(key: Key) -> bool {
    matches!(
        key,
        Key::LoraRank
            | Key::LoraTargets
            | Key::LoraDtype
            | Key::Quantization
            | Key::RecomputeLayers
            | Key::LossChunks
    )
}

/// Is such a key of use here? One that was given is shown in any case.
fn applies(config: &Config, key: Key) -> bool {
    let of_use = match key {
        Key::LoraRank | Key::LoraTargets | Key::LoraDtype => {
            matches!(config.method, Method::Lora | Method::Qlora)
        }
        Key::Quantization => config.method == Method::Qlora,
        Key::RecomputeLayers => config.recompute != Recompute::None,
        Key::LossChunks => config.loss == Loss::Chunked,
        _ => true,
    };
    of_use || config.get(key.word()) != Config::default().get(key.word())
}

/// Name of a section, and what it holds in short.
fn head(state: State, section: Section) -> View {
    let brief =
        words(move || named(section).iter().map(|key| brief(state, *key)).collect::<Vec<_>>().join(" · "));
    all([said(state, names::section(section)), el("span").attr("class", "brief").child(brief).into()])
}

fn model(state: State) -> View {
    // Asked for in the quick view only, but never hidden where it is given.
    let given = Memo::new(move |_| state.config.with(|config| config.params.is_some()));
    all([
        fields(state, &["model"]),
        part(move || if given.get() { fields(state, &["params"]) } else { none() }),
        shape(state),
        unfolding(None, false, said(state, text::OWN_CONFIG), move || {
            all([hub::view(state), diagnose::config_json(state)])
        }),
    ])
}

/// The fields of one's own model; they stand open where the configuration has some.
fn shape(state: State) -> View {
    let own = Memo::new(move |_| state.config.with(|config| !config.architecture.is_empty()));
    unfolding(None, own.get_untracked(), said(state, text::SHAPE), move || {
        let clear = part(move || {
            if !own.get() {
                return none();
            }
            el("button")
                .attr("type", "button")
                .on_here("click", move |_| state.change(|config| config.architecture.clear()))
                .say(state, text::BACK_TO_PRESET)
                .into()
        });
        let help = el("p").attr("class", "help").say(state, text::SHAPE_HELP);
        all([help.into(), fields(state, &SHAPE), clear])
    })
}

/// Keys that are read and kept but not counted: shown for what they are.
fn uncounted(state: State) -> View {
    let parts = [Section::Training, Section::Cluster, Section::Advanced].map(|section| {
        let names = keys(section, false);
        if names.is_empty() {
            return none();
        }
        let name = el("div").attr("class", "group").child(el("h3").say(state, names::section(section)));
        all([name.into(), fields(state, &names)])
    });
    all([el("p").attr("class", "help").say(state, text::NOT_COUNTED_HELP).into(), all(parts)])
}

/// A section that is built when it is first opened. Of those that are exclusive while the window is narrow only one
/// stands open then.
fn unfolding(
    exclusive: Option<RwSignal<bool>>,
    open: bool,
    head: View,
    mut body: impl FnMut() -> View + 'static,
) -> View {
    let built = RwSignal::new(open);
    let toggled = move |event: web_sys::Event| {
        if browser::is(&event, "open") && !built.get_untracked() {
            built.set(true);
        }
    };
    let details = el("details")
        .on_here("toggle", toggled)
        .maybe("name", move || exclusive.is_some_and(|narrow| narrow.get()).then(|| "section".to_owned()));
    let details = if open { details.attr("open", "") } else { details };
    let body = part(move || if built.get() { body() } else { none() });
    details.child(el("summary").child(head)).child(body).into()
}
