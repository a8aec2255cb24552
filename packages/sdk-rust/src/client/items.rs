//! The items of a whole list, each page fetched when it is wanted.

use std::collections::VecDeque;

use super::options::{ClaimFilter, EventFilter, GrantFilter, Page};
use super::Client;
use crate::answers::{Anchor, RecordHistoryItem};
use crate::error::Result;

/// What the pages so far have left over.
struct Pages<Item> {
    items: VecDeque<Item>,
    /// `None`: no page is left to ask for.
    wanted: Option<Page>,
}

impl<Item> Pages<Item> {
    fn from_the_first() -> Self {
        Self { items: VecDeque::new(), wanted: Some(Page::default()) }
    }

    fn add(&mut self, items: Vec<Item>, next_cursor: Option<String>) {
        self.items.extend(items);
        self.wanted = next_cursor.map(|cursor| Page { cursor: Some(cursor), limit: None });
    }
}

/// Events, one after another: see [`Client::iterate_event_anchors`].
pub struct EventItems {
    client: Client,
    filter: EventFilter,
    pages: Pages<Anchor>,
}

impl EventItems {
    /// The next event; `None`: there is no other at the moment. If a page could not be had, the next call asks again.
    ///
    /// # Errors
    /// As [`list_event_anchors`](Client::list_event_anchors).
    pub async fn next(&mut self) -> Result<Option<Anchor>> {
        loop {
            if let Some(item) = self.pages.items.pop_front() {
                return Ok(Some(item));
            }
            let Some(page) = &self.pages.wanted else { return Ok(None) };
            let list = self.client.list_event_anchors(&self.filter, page).await?;
            self.pages.add(list.items, list.next_cursor);
        }
    }
}

enum RecordFilter {
    Claims(ClaimFilter),
    Grants(GrantFilter),
}

/// Claims or grants, one after another: see [`Client::iterate_claim_anchors`].
pub struct RecordItems {
    client: Client,
    filter: RecordFilter,
    pages: Pages<RecordHistoryItem>,
}

impl RecordItems {
    /// The next record; `None`: there is no other at the moment. If a page could not be had, the next call asks again.
    ///
    /// # Errors
    /// As [`list_claim_anchors`](Client::list_claim_anchors) and [`list_grant_anchors`](Client::list_grant_anchors).
    pub async fn next(&mut self) -> Result<Option<RecordHistoryItem>> {
        loop {
            if let Some(item) = self.pages.items.pop_front() {
                return Ok(Some(item));
            }
            let Some(page) = &self.pages.wanted else { return Ok(None) };
            let list = match &self.filter {
                RecordFilter::Claims(filter) => self.client.list_claim_anchors(filter, page).await?,
                RecordFilter::Grants(filter) => self.client.list_grant_anchors(filter, page).await?,
            };
            self.pages.add(list.items, list.next_cursor);
        }
    }
}

/// Lists as a whole.
impl Client {
    /// All events of a list, ascending by sequence.
    pub fn iterate_event_anchors(&self, filter: EventFilter) -> EventItems {
        EventItems { client: self.clone(), filter, pages: Pages::from_the_first() }
    }

    /// All claims of an entity, ended or not, ascending by sequence.
    pub fn iterate_claim_anchors(&self, filter: ClaimFilter) -> RecordItems {
        RecordItems { client: self.clone(), filter: RecordFilter::Claims(filter), pages: Pages::from_the_first() }
    }

    /// All grants of an entity, ended or not, ascending by sequence.
    pub fn iterate_grant_anchors(&self, filter: GrantFilter) -> RecordItems {
        RecordItems { client: self.clone(), filter: RecordFilter::Grants(filter), pages: Pages::from_the_first() }
    }
}
