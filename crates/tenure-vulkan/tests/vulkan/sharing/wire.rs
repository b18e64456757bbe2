//! Messages between two processes: bytes, with file descriptors beside them.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The size of a message in bytes.
const BYTES: usize = 256;
const HANDLES: usize = 4;

/// One end of a connection to the other process.
pub(super) struct Wire(UnixStream);

impl Wire {
    /// The end of the process that was started with the other one as its standard input.
    pub(super) fn of_child() -> Self {
        Self(UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap()))
    }

    /// Starts this program's test `sharing::peer`, in the role `role`.
    pub(super) fn start(role: &str) -> (Self, Running) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["sharing::peer", "--exact", "--nocapture"])
            .env(super::ROLE, role)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        ours.set_read_timeout(Some(crate::basics::LONG)).unwrap();
        (Self(ours), Running(child))
    }

    pub(super) fn send(&self, bytes: &[u8], handles: &[&OwnedFd]) {
        let handles: Vec<_> = handles.iter().map(|handle| handle.as_fd()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDLES))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !handles.is_empty() {
            assert!(beside.push(SendAncillaryMessage::ScmRights(&handles)));
        }
        let sent = sendmsg(&self.0, &[IoSlice::new(bytes)], &mut beside, SendFlags::NOSIGNAL).unwrap();
        assert_eq!(sent, bytes.len());
    }

    /// The next message; it is empty if the other process has ended.
    pub(super) fn receive(&self) -> (Vec<u8>, Vec<OwnedFd>) {
        let mut bytes = vec![0; BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDLES))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let slices = &mut [IoSliceMut::new(&mut bytes)];
        let received = recvmsg(&self.0, slices, &mut beside, RecvFlags::CMSG_CLOEXEC).unwrap().bytes;
        bytes.truncate(received);
        let mut handles = Vec::new();
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(found) = message {
                handles.extend(found);
            }
        }
        (bytes, handles)
    }

    /// A word, and nothing beside it.
    pub(super) fn expect(&self, word: &str) {
        let (bytes, handles) = self.receive();
        assert_eq!(String::from_utf8_lossy(&bytes), word);
        assert!(handles.is_empty());
    }

    pub(super) fn say(&self, word: &str) {
        self.send(word.as_bytes(), &[]);
    }
}

/// The other process, ended with the test that started it.
pub(super) struct Running(Child);

impl Running {
    /// Waits for its end, which must be a good one.
    pub(super) fn finish(mut self) {
        assert!(self.0.wait().unwrap().success(), "the other process failed");
    }

    /// Kills it at once.
    pub(super) fn kill(mut self) {
        self.0.kill().unwrap();
        assert!(!self.0.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _status = self.0.wait();
    }
}
