//! Other users of a drive's reclaim unit handles, in words.

use anabranch_nvme_host::usage::listed;

use crate::findings::{Neighbour, PlacementFindings};

/// Sentences on the drive's handles, behind a space; nothing where the namespace has all of them and is alone.
///
/// The drive tells of each handle whether some namespace uses it, not which: what is used and not by a namespace that this
/// host sees is used by one that it does not see, or by one that does not tell its handles. Whether such a one shares the
/// namespace's own handles is not known.
pub(super) fn words(fdp: &PlacementFindings) -> String {
    let own: Vec<u16> = fdp.own.iter().map(|one| one.handle).collect();
    let others: Vec<u16> = (0..fdp.drive_handles)
        .filter(|handle| !own.contains(handle))
        .collect();
    let mut parts: Vec<String> = fdp
        .neighbours
        .iter()
        .map(|one| neighbour(fdp, one))
        .collect();
    let seen = |handle: &u16| {
        let mut lists = fdp
            .neighbours
            .iter()
            .filter_map(|one| one.handles.as_ref().ok());
        lists.any(|handles| handles.contains(handle))
    };
    let told = |word: fn(&str) -> bool| {
        let is_so = move |handle: &&u16| {
            fdp.usage
                .get(usize::from(**handle))
                .is_some_and(|one| word(one))
        };
        others.iter().filter(is_so).copied().collect::<Vec<_>>()
    };
    let mut unseen = told(|word| word.ends_with("specified"));
    unseen.retain(|handle| !seen(handle));
    let unseen_by = if fdp.neighbours.iter().any(|one| one.handles.is_err()) {
        "used by a namespace that does not tell, or that this host does not see"
    } else {
        "used by a namespace that this host does not see"
    };
    for (handles, whose) in [
        (unseen, unseen_by),
        (told(|word| word == "unused"), "used by no namespace"),
    ] {
        if !handles.is_empty() {
            parts.push(format!("{} {whose}", are(handles)));
        }
    }
    if others.is_empty() && parts.is_empty() {
        return String::new();
    }
    let drive = match fdp.drive_handles {
        0 => String::new(),
        handles => format!(" {handles}"),
    };
    parts.insert(0, format!("{} this namespace's", are(own)));
    format!(" Of the drive's{drive} handles {}.", parts.join("; "))
}

/// The handles of the namespace that a neighbour has too.
fn common(fdp: &PlacementFindings, neighbour: &Neighbour) -> Vec<u16> {
    let handles = neighbour.handles.as_deref().unwrap_or_default();
    let own = fdp.own.iter().map(|one| one.handle);
    own.filter(|handle| handles.contains(handle)).collect()
}

fn neighbour(fdp: &PlacementFindings, neighbour: &Neighbour) -> String {
    let device = &neighbour.device;
    let handles = match &neighbour.handles {
        Err(refusal) => return format!("{device} does not tell which it has ({refusal})"),
        Ok(handles) if handles.is_empty() => return format!("{device} has none"),
        Ok(handles) => handles.iter().copied(),
    };
    let those = match handles.len() {
        1 => "that",
        _ => "those",
    };
    let words = format!("{} {those} of {device}", are(handles));
    let common = common(fdp, neighbour);
    if common.is_empty() {
        return words;
    }
    format!(
        "{words}, and {} shared: data of both namespaces mix in the same reclaim units",
        are(common)
    )
}

/// `0-3 are`, `2 is`, or `none is`.
fn are(handles: impl IntoIterator<Item = u16>) -> String {
    let words = listed(handles);
    if words.is_empty() {
        return "none is".to_owned();
    }
    match words.parse::<u16>() {
        Ok(_) => format!("{words} is"),
        Err(_) => format!("{words} are"),
    }
}

/// The remedy for shared handles; nothing where none is. One handle alone tells nothing apart, so at least two must be
/// left to steer to.
pub(super) fn remedy(fdp: &PlacementFindings) -> Option<String> {
    let mut shared = fdp
        .neighbours
        .iter()
        .flat_map(|one| common(fdp, one))
        .peekable();
    shared.peek()?;
    let shared: Vec<u16> = shared.collect();
    let free = fdp.own.iter().filter(|one| !shared.contains(&one.handle));
    let free: Vec<u16> = free.map(|one| one.identifier).collect();
    let anew = "make the namespaces anew, each with handles of its own (`nvme create-ns --phndls`)";
    if free.len() < 2 {
        return Some(anew.to_owned());
    }
    // A word of a command has no spaces.
    let free = listed(free).replace(' ', "");
    Some(format!(
        "{anew}, or leave out those that are shared: `anabranch steer --handles {free}`"
    ))
}
