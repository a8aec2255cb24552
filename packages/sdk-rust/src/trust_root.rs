//! The trust-root document: one version and its rules. docs/PROTOCOL.md, "Trust root".

use std::collections::HashSet;

use crate::checkpoint::{checkpoint_origin, is_cluster_name, is_node_id, is_root_label};
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint, PublicKey};
use crate::note::{parse_note, SignedNote, Vkey, VkeyType};
use crate::policy::{PolicyGroup, TlogPolicy};
use crate::tags::origin_fingerprint_of;
use crate::trust_root_text::{
    print_text, read_text, refuse, refuse_unless, NodeStatus, RawNumbers, TrustRoot, TrustRootNode, TrustRootOperator,
    TrustRootOrigin, TrustRootWitness,
};
use crate::witness_url::is_witness_url;

/// Words of the policy rendering that a node must not be called.
const RESERVED_NODE_IDS: [&str; 2] = ["nodes", "none"];
/// Groups in the policy of witnessed heads, which a node may be called as well.
const WITNESSED_GROUPS: [&str; 2] = ["outside", "both"];

impl TrustRoot {
    /// Reads the text of one version, which may be attacker-controlled, and holds it against every rule of one
    /// document.
    ///
    /// # Errors
    /// The codes of docs/PROTOCOL.md, "Trust root", in its order.
    pub fn parse(text: &str) -> Result<Self> {
        let (root, numbers) = read_text(text)?;
        if print_text(&root, &numbers) != text {
            return refuse("not_canonical", "the text is not the one text of this trust root");
        }
        root.check_names()?;
        root.check_key_names()?;
        root.check_outsiders()?;
        root.check_numbers(&numbers)?;
        root.check_lines()?;
        root.check_keys_differ()?;
        if root.version == 1 {
            root.nodes.iter().try_for_each(|node| root.check_first_cosigner(node))?;
        }
        Ok(root)
    }

    fn check_names(&self) -> Result<()> {
        refuse_unless(is_cluster_name(&self.cluster_name), "name_invalid", || "the cluster name is not legal".into())?;
        self.nodes.iter().try_for_each(|node| {
            let is_legal = is_node_id(&node.node_id) && !RESERVED_NODE_IDS.contains(&node.node_id.as_str());
            refuse_unless(is_legal, "name_invalid", || format!("not a node id: {}", node.node_id))
        })?;
        let operators = self.operators.iter().map(|operator| &operator.name);
        operators.chain(self.witnesses.iter().map(|witness| &witness.name)).try_for_each(|name| {
            refuse_unless(is_node_id(name), "name_invalid", || format!("not a name of an operator or witness: {name}"))
        })
    }

    fn check_key_names(&self) -> Result<()> {
        let cluster = &self.cluster_name;
        for key in &self.root_keys {
            let label = key.name().strip_prefix(cluster).and_then(|rest| rest.strip_prefix("/root/"));
            let is_root_key = label.is_some_and(is_root_label) && key.key_type() == VkeyType::Ed25519;
            refuse_unless(is_root_key, "key_misnamed", || format!("{} is not a root key of this cluster", key.name()))?;
        }
        for origin in &self.origins {
            let key = &origin.log_vkey;
            let is_named = key.name() == checkpoint_origin(cluster, &origin.origin_fingerprint);
            let is_log_key = is_named && key.key_type() == VkeyType::Ed25519;
            refuse_unless(is_log_key, "key_misnamed", || format!("{} is not this origin's log key", key.name()))?;
        }
        self.nodes.iter().try_for_each(|node| {
            let key = &node.cosigner_vkey;
            let is_named = key.name() == format!("{cluster}/node/{}", node.node_id);
            let is_cosigner = is_named && key.key_type() == VkeyType::Cosignature;
            refuse_unless(is_cosigner, "key_misnamed", || format!("{} is not a cosigner key of its node", key.name()))
        })
    }

    /// Those who are no nodes: operators' and witnesses' keys, and where witnesses are.
    fn check_outsiders(&self) -> Result<()> {
        for TrustRootOperator { name, vkey } in &self.operators {
            let is_named = vkey.name() == format!("{}/operator/{name}", self.cluster_name);
            let is_operator = is_named && vkey.key_type() == VkeyType::Ed25519;
            refuse_unless(is_operator, "key_misnamed", || {
                format!("{} is not the key of operator {name}", vkey.name())
            })?;
        }
        // Key ids are short: under the name of a node's key somebody could make a key of the same id.
        let logs = self.origins.iter().map(|origin| origin.log_vkey.name());
        let own: HashSet<&str> = logs.chain(self.nodes.iter().map(|node| node.cosigner_vkey.name())).collect();
        for TrustRootWitness { name, vkey, .. } in &self.witnesses {
            let is_cosigner = vkey.key_type() == VkeyType::Cosignature;
            refuse_unless(is_cosigner, "key_misnamed", || format!("the key of witness {name} makes no cosignatures"))?;
            refuse_unless(!own.contains(vkey.name()), "key_misnamed", || {
                format!("the key of witness {name} has the name of one of the cluster")
            })?;
        }
        self.witnesses.iter().try_for_each(|TrustRootWitness { name, url, .. }| {
            refuse_unless(is_witness_url(url), "witness_url_invalid", || {
                format!("witness {name} has no URL of the form that is asked for")
            })
        })
    }

    fn check_numbers(&self, numbers: &RawNumbers) -> Result<()> {
        let is_u32 = numbers.version <= u64::from(u32::MAX) && numbers.epoch <= u64::from(u32::MAX);
        refuse_unless(numbers.version >= 1 && is_u32, "version_invalid", || "version and epoch are u32".into())?;
        let is_first = self.version == 1;
        refuse_unless(is_first == self.previous.is_zero(), "previous_invalid", || {
            "zeros stand for the version before version 1".into()
        })?;
        refuse_unless(self.issued_s < self.expires_s, "validity_invalid", || "it expires before it is issued".into())?;
        let is_reachable = (1..=self.root_keys.len()).contains(&self.root_threshold);
        refuse_unless(is_reachable, "root_threshold_invalid", || {
            format!("{} of {} root keys", numbers.root_threshold, self.root_keys.len())
        })?;
        let active = self.active_nodes().count();
        let is_majority = self.quorum > active / 2 && self.quorum <= active;
        refuse_unless(is_majority, "quorum_unsafe", || {
            format!("a quorum of {} is not a majority of {active} active nodes", numbers.quorum)
        })?;
        let listed = self.witnesses.len();
        let is_shared = listed == 0 || (self.witness_quorum > listed / 2 && self.witness_quorum <= listed);
        refuse_unless(is_shared, "witnesses_unsafe", || {
            format!("{} is not a majority of {listed} witnesses", numbers.witness_quorum)
        })
    }

    /// Order is settled by the canonical text; what is left is that nothing is listed twice or missing.
    fn check_lines(&self) -> Result<()> {
        fn repeats<T: Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> bool {
            let mut seen = HashSet::new();
            !items.into_iter().all(|item| seen.insert(item))
        }
        refuse_unless(!repeats(self.ca.iter()), "item_repeated", || "a CA is listed twice".into())?;
        let fingerprints = || self.origins.iter().map(|origin| origin.origin_fingerprint);
        refuse_unless(!repeats(fingerprints()), "item_repeated", || "an origin is listed twice".into())?;
        let ids = self.nodes.iter().map(|node| node.node_id.as_str());
        refuse_unless(!repeats(ids), "item_repeated", || "a node is listed twice".into())?;
        let used = || self.nodes.iter().map(|node| node.origin_fingerprint);
        refuse_unless(!repeats(used()), "item_repeated", || "two nodes share an origin".into())?;
        let operators = self.operators.iter().map(|operator| operator.name.as_str());
        refuse_unless(!repeats(operators), "item_repeated", || "an operator is listed twice".into())?;
        let witnesses = self.witnesses.iter().map(|witness| witness.name.as_str());
        refuse_unless(!repeats(witnesses), "item_repeated", || "a witness is listed twice".into())?;
        // Key ids are short: under the name of another witness's key one could make a key of the same id.
        let key_names = self.witnesses.iter().map(|witness| witness.vkey.name());
        refuse_unless(!repeats(key_names), "item_repeated", || "the keys of two witnesses have one name".into())?;
        let listed: HashSet<OriginFingerprint> = fingerprints().collect();
        used().try_for_each(|origin| {
            refuse_unless(listed.contains(&origin), "origin_unlisted", || {
                format!("a node's origin {origin} has no line")
            })
        })
    }

    fn check_keys_differ(&self) -> Result<()> {
        let mut seen = HashSet::new();
        self.keys().into_iter().try_for_each(|(key, owner)| {
            refuse_unless(seen.insert(key), "key_reused", || format!("the key of {owner} has another use as well"))
        })
    }

    /// The origin of a node's first cosigner key.
    pub(crate) fn check_first_cosigner(&self, node: &TrustRootNode) -> Result<()> {
        let expected = origin_fingerprint_of(&self.cluster_id, node.cosigner_vkey.public_key());
        refuse_unless(expected == node.origin_fingerprint, "origin_fingerprint_wrong", || {
            format!("the origin of {} is not that of its cosigner key", node.node_id)
        })
    }

    /// Every key with the name of its one use.
    pub(crate) fn keys(&self) -> Vec<(PublicKey, String)> {
        let named = |key: &Vkey| (*key.public_key(), key.name().to_owned());
        let mut keys: Vec<(PublicKey, String)> = self.root_keys.iter().map(named).collect();
        keys.extend(self.origins.iter().map(|origin| named(&origin.log_vkey)));
        keys.extend(self.nodes.iter().map(|node| named(&node.cosigner_vkey)));
        keys.extend(self.nodes.iter().map(|node| (node.auth_public_key, format!("auth of {}", node.node_id))));
        keys.extend(self.operators.iter().map(|operator| named(&operator.vkey)));
        // Under a prefix: a witness chooses its key's name, which must not pass for one of the cluster's.
        let outside = |key: &Vkey| (*key.public_key(), format!("witness {}", key.name()));
        keys.extend(self.witnesses.iter().map(|witness| outside(&witness.vkey)));
        keys
    }

    fn active_nodes(&self) -> impl Iterator<Item = &TrustRootNode> {
        self.nodes.iter().filter(|node| node.status == NodeStatus::Active)
    }

    /// Who may cosign under this version: its active nodes.
    pub(crate) fn cosigners(&self) -> Vec<&Vkey> {
        self.active_nodes().map(|node| &node.cosigner_vkey).collect()
    }

    /// The line of an origin, if this version lists it.
    pub fn origin(&self, origin_fingerprint: &OriginFingerprint) -> Option<&TrustRootOrigin> {
        self.origins.iter().find(|origin| origin.origin_fingerprint == *origin_fingerprint)
    }

    /// The quorum rule as a C2SP tlog-policy, for tools that others wrote.
    pub fn tlog_policy(&self) -> TlogPolicy {
        let members: Vec<String> = self.active_nodes().map(|node| node.node_id.clone()).collect();
        TlogPolicy {
            logs: self.origins.iter().map(|origin| origin.log_vkey.clone()).collect(),
            witnesses: self.active_nodes().map(|node| (node.node_id.clone(), node.cosigner_vkey.clone())).collect(),
            groups: vec![PolicyGroup { name: "nodes".into(), threshold: self.quorum, members }],
            quorum: Some("nodes".into()),
        }
    }

    /// The rule of witnessed heads as a C2SP tlog-policy: the quorum of nodes, and as many witnesses as are needed.
    /// `None` if this version lists no witness.
    pub fn witnessed_policy(&self) -> Option<TlogPolicy> {
        if self.witnesses.is_empty() {
            return None;
        }
        let TlogPolicy { logs, witnesses, .. } = self.tlog_policy();
        // No node id has a slash.
        let renamed =
            |name: String| if WITNESSED_GROUPS.contains(&name.as_str()) { format!("node/{name}") } else { name };
        let mut signers: Vec<_> = witnesses.into_iter().map(|(name, vkey)| (renamed(name), vkey)).collect();
        let nodes: Vec<String> = signers.iter().map(|(name, _)| name.clone()).collect();
        let outside: Vec<String> = self.witnesses.iter().map(|each| format!("witness/{}", each.name)).collect();
        signers.extend(outside.iter().cloned().zip(self.witnesses.iter().map(|each| each.vkey.clone())));
        let group = |name: &str, threshold, members| PolicyGroup { name: name.into(), threshold, members };
        let groups = vec![
            group("nodes", self.quorum, nodes),
            group("outside", self.witness_quorum, outside),
            group("both", 2, vec!["nodes".into(), "outside".into()]),
        ];
        Some(TlogPolicy { logs, witnesses: signers, groups, quorum: Some("both".into()) })
    }
}

/// A document with its signatures.
#[derive(Clone, Debug)]
pub struct SignedTrustRoot {
    pub(crate) trust_root: TrustRoot,
    pub(crate) root_thk: Hash,
    pub(crate) note: SignedNote,
    pub(crate) document: String,
}

impl SignedTrustRoot {
    /// Signatures are read, not verified: a chain does that.
    pub(crate) fn parse(document: &str) -> Result<Self> {
        let note = parse_note(document).map_err(|error| Error::verification("malformed", error.to_string()))?;
        let trust_root = TrustRoot::parse(&note.text)?;
        let root_thk = Hash::sha256(&note.text);
        Ok(Self { trust_root, root_thk, note, document: document.to_owned() })
    }

    /// What it says.
    pub fn trust_root(&self) -> &TrustRoot {
        &self.trust_root
    }

    /// SHA-256 of the text, signatures excluded: what is pinned.
    pub fn root_thk(&self) -> &Hash {
        &self.root_thk
    }

    /// The whole signed note, as it was read.
    pub fn document(&self) -> &str {
        &self.document
    }
}
