//! Namespaces: creating, deleting, attaching and identifying them (Base §5.1.13, §5.2.10, §5.2.11).

use crate::{Completion, Entry, Host, NamespaceData, Result, Transfer, number};

/// The host's description of a namespace to be created (NVM §4.1.6.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNamespace {
    /// Size in logical blocks: NSZE, bytes 7:0, and NCAP, bytes 15:8.
    pub blocks: u64,
    /// Capacity in logical blocks (NCAP), if it differs from the size.
    pub capacity: Option<u64>,
    /// LBA format (FLBAS), byte 26.
    pub format: u8,
    /// Whether several controllers may attach it (NMIC), byte 30.
    pub shared: bool,
    /// Its placement handles: their number (NPHNDLS) in bytes 393:392, the list from byte 512 on.
    pub handles: Vec<u16>,
}

impl NewNamespace {
    /// A namespace of `blocks` blocks of 4096 bytes, for any controllers.
    pub fn of(blocks: u64) -> NewNamespace {
        NewNamespace {
            blocks,
            capacity: None,
            format: 1,
            shared: true,
            handles: Vec::new(),
        }
    }

    /// The 4096 bytes that the create command sends.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut data = vec![0; 4096];
        data[..8].copy_from_slice(&self.blocks.to_le_bytes());
        let capacity = self.capacity.unwrap_or(self.blocks);
        data[8..16].copy_from_slice(&capacity.to_le_bytes());
        data[26] = self.format;
        data[30] = self.shared.into();
        data[392..394].copy_from_slice(&(self.handles.len() as u16).to_le_bytes());
        for (place, handle) in self.handles.iter().enumerate() {
            let at = 512 + 2 * place;
            data[at..at + 2].copy_from_slice(&handle.to_le_bytes());
        }
        data
    }
}

impl Host {
    /// Creates a namespace: Namespace Management (0Dh), SEL 0 in dword 10 bits 3:0; the
    /// completion's result is the identifier.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn create_namespace(&mut self, new: &NewNamespace) -> Result<Completion> {
        self.admin
            .run(Entry::new(0x0d, 0), Transfer::out(new.to_bytes()))
    }

    /// Deletes a namespace: Namespace Management (0Dh), SEL 1.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn delete_namespace(&mut self, id: u32) -> Result<Completion> {
        let entry = Entry::new(0x0d, id).dword(10, 1);
        self.admin.run(entry, Transfer::None)
    }

    /// Namespace Attachment (15h): attach (SEL 0) or detach (SEL 1), to a list of controllers: their
    /// number in bytes 1:0, then their identifiers.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn attach_namespace(
        &mut self,
        id: u32,
        attach: bool,
        controllers: &[u16],
    ) -> Result<Completion> {
        let mut data = (controllers.len() as u16).to_le_bytes().to_vec();
        data.extend(controllers.iter().flat_map(|one| one.to_le_bytes()));
        data.resize(4096, 0);
        let entry = Entry::new(0x15, id).dword(10, u32::from(!attach));
        self.admin.run(entry, Transfer::out(data))
    }

    /// Reads a list of namespaces above a number (CNS 02h: attached; 10h: all), without the zeroes
    /// at its end.
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn namespace_list(&mut self, structure: u8, above: u32) -> Result<Vec<u32>> {
        let page = self.page(structure, above)?;
        let ids = (0..1024).map(|place| number(&page, 4 * place, 4) as u32);
        Ok(ids.take_while(|&id| id != 0).collect())
    }

    /// Reads a list of controllers (CNS 12h: those that have a namespace attached; 13h: all).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn controller_list(&mut self, structure: u8, namespace: u32) -> Result<Vec<u16>> {
        let page = self.page(structure, namespace)?;
        let count = number(&page, 0, 2) as usize;
        let id = |place: usize| number(&page, 2 + 2 * place, 2) as u16;
        Ok((0..count).map(id).collect())
    }

    /// Identifies a namespace (CNS 00h: attached; 11h: any).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn identify_namespace(&mut self, structure: u8, id: u32) -> Result<NamespaceData> {
        Ok(NamespaceData::of(&self.page(structure, id)?))
    }

    /// Bytes of the subsystem, and those that belong to no namespace (TNVMCAP, bytes 295:280 of
    /// Identify Controller, and UNVMCAP, 311:296).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn capacities(&mut self) -> Result<(u128, u128)> {
        let page = self.page(0x01, 0)?;
        Ok((number(&page, 280, 16), number(&page, 296, 16)))
    }

    /// Reads the Changed Namespace List (log 04h).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn changed_namespaces(&mut self) -> Result<Vec<u32>> {
        let page = self.log(0x04, 4096, 0)?;
        let ids = (0..1024).map(|place| number(&page, 4 * place, 4) as u32);
        Ok(ids.take_while(|&id| id != 0).collect())
    }

    /// Reads an Identify data structure of 4096 bytes.
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn page(&mut self, structure: u8, namespace: u32) -> Result<Vec<u8>> {
        let entry = Entry::identify(structure, namespace);
        Ok(self
            .admin
            .succeed("identify", entry, Transfer::In(4096))?
            .data)
    }
}
