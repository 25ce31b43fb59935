//! Elements, made once and bound to signals.
//!
//! The reactive graph is Leptos', and so is the mount. Its `view!` compiles a copy of the renderer for every shape of
//! element and every closure in it, which made the page a third larger to load (278 KB instead of 211 KB after brotli,
//! all else being equal); these few functions are compiled once. A [`part`] that follows signals is made anew, and what
//! its closures held is freed with it.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{Element, Event, FocusOptions, HtmlElement, Node};

use super::{State, rest};
use crate::text::Text;

/// Nodes that stand after each other.
#[derive(Default)]
pub(super) struct View(Vec<Node>);

/// An element in the making.
pub(super) struct El(Element);

/// An element with this tag.
pub(super) fn el(tag: &str) -> El {
    #[expect(
        clippy::expect_used,
        reason = "tags are words of this crate, never input, and every one is valid"
    )]
    El(document().create_element(tag).expect("a valid tag"))
}

/// Nothing.
pub(super) fn none() -> View {
    View::default()
}

/// Views after each other.
pub(super) fn all<const N: usize>(views: [View; N]) -> View {
    View::from(Vec::from(views))
}

/// Text that stays as it is.
pub(super) fn text(text: &str) -> View {
    View(vec![document().create_text_node(text).into()])
}

/// Text that follows its signals.
pub(super) fn words(words: impl FnMut() -> String + 'static) -> View {
    words_of(Box::new(words))
}

fn words_of(mut words: Box<dyn FnMut() -> String>) -> View {
    let node = document().create_text_node("");
    let shown = node.clone();
    follow(Box::new(move || shown.set_data(&words())));
    View(vec![node.into()])
}

/// A sentence in the reader's language.
pub(super) fn said(state: State, sentence: Text) -> View {
    words(move || state.say(sentence).to_owned())
}

/// A part that is made anew whenever its signals change.
pub(super) fn part(view: impl FnMut() -> View + 'static) -> View {
    part_of(Box::new(view))
}

fn part_of(mut view: Box<dyn FnMut() -> View>) -> View {
    // What is between two empty texts is replaced; until they are on the page a fragment holds them.
    let (start, end): (Node, Node) =
        (document().create_text_node("").into(), document().create_text_node("").into());
    let fragment: Node = document().create_document_fragment().into();
    append(&fragment, &start);
    append(&fragment, &end);
    follow(Box::new(move || {
        let View(nodes) = view();
        let Some(parent) = end.parent_node() else { return };
        let focused = document().active_element();
        let mut lost = None;
        while let Some(old) = start.next_sibling().filter(|next| *next != end) {
            lost = lost.or_else(|| focused.clone().filter(|focused| old.contains(Some(focused))));
            // It was just found there.
            let _ = parent.remove_child(&old);
        }
        for node in &nodes {
            let _ = parent.insert_before(node, Some(&end));
        }
        if let Some(lost) = lost {
            focus_again(&nodes, &lost);
        }
    }));
    View(vec![fragment])
}

/// Gives the focus to what now stands for the element that had it, so that an answer that arrives late doesn't throw
/// whoever walks the page by keyboard back to its top.
fn focus_again(nodes: &[Node], lost: &Element) {
    let says = |element: &Element| (element.get_attribute("aria-label"), element.text_content());
    let wanted = says(lost);
    for node in nodes.iter().filter_map(|node| node.dyn_ref::<Element>()) {
        let inside = node.get_elements_by_tag_name(&lost.tag_name());
        let found =
            std::iter::once(node.clone()).chain((0..inside.length()).filter_map(|at| inside.item(at)));
        for element in
            found.filter(|element| element.tag_name() == lost.tag_name() && says(element) == wanted)
        {
            if let Some(element) = element.dyn_ref::<HtmlElement>() {
                let options = FocusOptions::new();
                options.set_prevent_scroll(true);
                // What can't have the focus simply doesn't take it.
                let _ = element.focus_with_options(&options);
                return;
            }
        }
    }
}

/// Runs now, and again whenever one of the signals that it read has changed, until the part around it is made anew.
pub(super) fn follow(mut run: Box<dyn FnMut()>) {
    let effect = RenderEffect::new(move |_: Option<()>| run());
    keep(Box::new(effect));
}

/// Keeps a value until the part around it is made anew.
pub(super) fn keep(value: Box<dyn std::any::Any>) {
    StoredValue::new_local(value);
}

fn append(parent: &Node, child: &Node) {
    // A node that was just made can stand anywhere.
    let _ = parent.append_child(child);
}

impl El {
    /// An attribute.
    pub(super) fn attr(self, name: &str, value: &str) -> Self {
        // Names are words of this crate, all valid.
        let _ = self.0.set_attribute(name, value);
        self
    }

    /// An attribute that follows its signals; absent while `None`.
    pub(super) fn maybe(self, name: &'static str, value: impl FnMut() -> Option<String> + 'static) -> Self {
        self.follow_attribute(name, Box::new(value));
        self
    }

    fn follow_attribute(&self, name: &'static str, mut value: Box<dyn FnMut() -> Option<String>>) {
        let element = self.0.clone();
        follow(Box::new(move || {
            let _ = match value() {
                Some(value) => element.set_attribute(name, &value),
                None => element.remove_attribute(name),
            };
        }));
    }

    /// An attribute that follows its signals.
    pub(super) fn live(self, name: &'static str, mut value: impl FnMut() -> String + 'static) -> Self {
        self.maybe(name, move || Some(value()))
    }

    /// An attribute with a sentence in the reader's language.
    pub(super) fn label(self, name: &'static str, state: State, sentence: Text) -> Self {
        self.live(name, move || state.say(sentence).to_owned())
    }

    /// A property of the element that follows its signals. Set after the children, on which that of a list depends.
    pub(super) fn prop(self, name: &'static str, value: impl FnMut() -> JsValue + 'static) -> Self {
        self.follow_property(name, Box::new(value));
        self
    }

    fn follow_property(&self, name: &'static str, mut value: Box<dyn FnMut() -> JsValue>) {
        let element = self.0.clone();
        follow(Box::new(move || {
            let value = value();
            // Writing the same text would move the caret.
            if js_sys::Reflect::get(&element, &name.into()).ok().as_ref() != Some(&value) {
                let _ = js_sys::Reflect::set(&element, &name.into(), &value);
            }
        }));
    }

    /// What happens on an event.
    pub(super) fn on(self, event: &str, handler: impl FnMut(Event) + 'static) -> Self {
        self.listen(event, Box::new(handler));
        self
    }

    /// As [`El::on`], once the whole program is here.
    pub(super) fn on_here(self, event: &str, handler: impl FnMut(Event) + 'static) -> Self {
        self.listen_here(event, Rc::new(RefCell::new(handler)));
        self
    }

    fn listen_here(&self, event: &str, handler: Rc<RefCell<dyn FnMut(Event)>>) {
        // Goes with its element: what waits for one that is gone is not done.
        let held = Rc::downgrade(&handler);
        keep(Box::new(handler));
        self.listen(
            event,
            Box::new(move |event| {
                let held = held.clone();
                rest::when_here(Box::new(move || {
                    if let Some(handler) = held.upgrade()
                        && let Ok(mut handler) = handler.try_borrow_mut()
                    {
                        handler(event);
                    }
                }));
            }),
        );
    }

    fn listen(&self, event: &str, handler: Box<dyn FnMut(Event)>) {
        let handler = Closure::wrap(handler);
        let _ = self.0.add_event_listener_with_callback(event, handler.as_ref().unchecked_ref());
        keep(Box::new(Listening { element: self.0.clone(), event: event.to_owned(), handler }));
    }

    /// What stands within.
    pub(super) fn child(self, view: impl Into<View>) -> Self {
        view.into().mount(&self.0);
        self
    }

    /// Text that stays as it is.
    pub(super) fn text(self, words: &str) -> Self {
        self.child(text(words))
    }

    /// A sentence in the reader's language.
    pub(super) fn say(self, state: State, sentence: Text) -> Self {
        self.child(said(state, sentence))
    }

    /// The element itself.
    pub(super) fn element(&self) -> &Element {
        &self.0
    }
}

/// A handler that goes with its element: an event that was under way finds none.
struct Listening {
    element: Element,
    event: String,
    handler: Closure<dyn FnMut(Event)>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let handler = self.handler.as_ref().unchecked_ref();
        let _ = self.element.remove_event_listener_with_callback(&self.event, handler);
    }
}

impl View {
    /// Puts the view at the end of an element of the page.
    pub(super) fn mount(self, parent: &Node) {
        for node in self.0 {
            append(parent, &node);
        }
    }
}

impl From<El> for View {
    fn from(element: El) -> Self {
        Self(vec![element.0.into()])
    }
}

impl From<Vec<View>> for View {
    fn from(views: Vec<View>) -> Self {
        let mut nodes = Vec::with_capacity(views.len());
        for view in views {
            nodes.extend(view.0);
        }
        Self(nodes)
    }
}

impl From<Option<View>> for View {
    fn from(view: Option<View>) -> Self {
        view.unwrap_or_default()
    }
}
