//! What is reserved, made exact beside the page: the quick band stands until a replay of the allocator is told.

use std::time::Duration;

use leptos::prelude::*;

use super::el::follow;
use super::later::{self, Asked, Told};
use super::{State, address, rest};
use crate::jobs::{Request, read_band};

/// Typing is one change.
const QUIET: Duration = Duration::from_millis(250);
/// The first time: what somebody looks at first is there by then.
const LATER: Duration = Duration::from_secs(2);

/// Asks whenever the configuration changes. What was asked before is dropped, and with it cancelled.
pub(super) fn watch(state: State) {
    let asked = StoredValue::new_local(None::<Asked>);
    let turn = StoredValue::new(0_u32);
    follow(Box::new(move || {
        let Some(answer) = state.outcome.with(|outcome| outcome.answer.clone()) else { return };
        if untrack(|| state.settled()) {
            return;
        }
        let _ = asked.try_set_value(None);
        let mine = turn.try_update_value(|turn| {
            *turn = turn.wrapping_add(1);
            *turn
        });
        let wait = if mine == Some(1) { LATER } else { QUIET };
        let begin = move || {
            if turn.try_get_value() != mine {
                return;
            }
            let request = Request::Reserve { link: address::query(&answer.config) };
            let hear = move |told| {
                let found = match told {
                    Told::Done(said) => read_band(&said),
                    Told::Failed => None,
                    Told::Progress(_) => return,
                };
                // Where there is no better answer, the quick one stands.
                let band = found.unwrap_or(answer.estimate.reserved);
                let _ = state.replayed.try_set(Some((answer.config.clone(), band)));
            };
            let _ = asked.try_set_value(Some(later::ask(&request, hear)));
        };
        set_timeout(move || rest::quietly(Box::new(begin)), wait);
    }));
}
