//! RFC 6962 section 2.1 trees. Verifiers answer false, and never panic, whatever an attacker put into a proof.

use crate::hash::Hash;

/// SHA-256 of nothing: the root of the tree without leaves.
pub(crate) fn empty_root() -> Hash {
    Hash::sha256([])
}

/// H(0x01 ‖ left ‖ right).
pub(crate) fn interior_hash(left: &Hash, right: &Hash) -> Hash {
    Hash::of_parts(&[&[1], left.as_bytes(), right.as_bytes()])
}

/// Whether a path leads from a leaf hash to a root hash. RFC 9162 section 2.1.3.2.
pub(crate) fn is_included(leaf_hash: &Hash, index: u64, tree_size: u64, path: &[Hash], root_hash: &Hash) -> bool {
    if index >= tree_size {
        return false;
    }
    let (mut position, mut last) = (index, tree_size - 1);
    let mut hash = *leaf_hash;
    for sibling in path {
        if last == 0 {
            return false;
        }
        if position % 2 == 1 || position == last {
            hash = interior_hash(sibling, &hash);
            while position % 2 == 0 && position != 0 {
                position /= 2;
                last /= 2;
            }
        } else {
            hash = interior_hash(&hash, sibling);
        }
        position /= 2;
        last /= 2;
    }
    last == 0 && hash == *root_hash
}

/// Whether the tree of `old_size` leaves is the beginning of the tree of `size` leaves. RFC 9162 section 2.1.4.2; equal
/// sizes need equal roots and an empty proof, and the empty tree, whose root is H(""), begins every tree.
pub(crate) fn is_consistent(old_size: u64, old_root: &Hash, size: u64, root: &Hash, proof: &[Hash]) -> bool {
    if old_size > size {
        return false;
    }
    if old_size == size {
        return proof.is_empty() && old_root == root;
    }
    if old_size == 0 {
        return proof.is_empty() && *old_root == empty_root();
    }
    let (first, rest) = if old_size.is_power_of_two() {
        (old_root, proof)
    } else {
        match proof.split_first() {
            Some(split) => split,
            None => return false,
        }
    };
    let (mut position, mut last) = (old_size - 1, size - 1);
    while position % 2 == 1 {
        position /= 2;
        last /= 2;
    }
    let (mut old_hash, mut hash) = (*first, *first);
    for sibling in rest {
        if last == 0 {
            return false;
        }
        if position % 2 == 1 || position == last {
            old_hash = interior_hash(sibling, &old_hash);
            hash = interior_hash(sibling, &hash);
            while position % 2 == 0 && position != 0 {
                position /= 2;
                last /= 2;
            }
        } else {
            hash = interior_hash(&hash, sibling);
        }
        position /= 2;
        last /= 2;
    }
    last == 0 && old_hash == *old_root && hash == *root
}

/// The roots of the perfect subtrees that make up a tree: all that is needed to append to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frontier {
    size: u64,
    /// Largest subtree first: one hash for each 1 bit of the size.
    hashes: Vec<Hash>,
}

impl Frontier {
    /// `None` if the number of hashes is not the one the size asks for.
    pub(crate) fn new(size: u64, hashes: Vec<Hash>) -> Option<Self> {
        (hashes.len() == size.count_ones() as usize).then_some(Self { size, hashes })
    }

    pub(crate) fn append(&mut self, leaf_hash: Hash) {
        let mut hash = leaf_hash;
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.hashes.pop() {
                hash = interior_hash(&left, &hash);
            }
        }
        self.hashes.push(hash);
        self.size += 1;
    }

    pub(crate) fn root(&self) -> Hash {
        let mut from_the_right = self.hashes.iter().rev();
        let Some(last) = from_the_right.next() else { return empty_root() };
        from_the_right.fold(*last, |right, left| interior_hash(left, &right))
    }
}
