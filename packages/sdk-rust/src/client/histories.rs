//! All claims and grants of an entity, ended or not.

use super::held::hold_content;
use super::options::{target, ClaimFilter, GrantFilter, Page};
use super::Client;
use crate::answers::{ClaimAnchor, RecordHistory};
use crate::error::Result;

type Query = Vec<(&'static str, Option<String>)>;

/// Histories, page by page. [`get_claim_anchor`](Client::get_claim_anchor) and
/// [`get_grant_anchor`](Client::get_grant_anchor) answer with the current one, and its receipt.
impl Client {
    /// Claims, ended or not, ascending by sequence.
    ///
    /// # Errors
    /// `content_differs` if a claim is about something else. An entity without claims has an empty list.
    pub async fn list_claim_anchors(&self, filter: &ClaimFilter, page: &Page) -> Result<RecordHistory> {
        let list = self.history("/v1/claim-anchors", filter.query(), page).await?;
        let is_asked = |claim: &ClaimAnchor| {
            claim.entity_fingerprint == filter.entity_fingerprint
                && filter.attribute_type.is_none_or(|attribute_type| claim.attribute_type == attribute_type)
        };
        hold_content(list.items.iter().all(|item| item.anchor.content.claim().is_some_and(is_asked)))?;
        Ok(list)
    }

    /// Grants, ended or not, ascending by sequence. A grant names claims: of whose entities they are, it does not say.
    ///
    /// # Errors
    /// `content_differs` if an item is no grant. An entity without grants has an empty list.
    pub async fn list_grant_anchors(&self, filter: &GrantFilter, page: &Page) -> Result<RecordHistory> {
        let list = self.history("/v1/grant-anchors", filter.query(), page).await?;
        hold_content(list.items.iter().all(|item| item.anchor.content.grant().is_some()))?;
        Ok(list)
    }

    async fn history(&self, path: &str, mut query: Query, page: &Page) -> Result<RecordHistory> {
        query.push(("history", Some("true".to_owned())));
        query.push(("cursor", page.cursor.clone()));
        query.push(("limit", page.limit.map(|limit| limit.to_string())));
        self.call(&self.get(target(path, query))).await
    }
}
