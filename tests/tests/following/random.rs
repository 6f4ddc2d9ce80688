//! A random history of a few users: what is said, edited, recalled, deleted, read, muted, joined and left in any order,
//! devices that look when they like and lose answers. In the end each has what its user may read, and unread is what
//! was said by others after what the user has read.

use fastrand::Rng;
use im_tests::client::Client;
use im_tests::follow::{offline, read, update};
use im_tests::model::ModelDevice;
use im_tests::recall::{delete, edit, edit_of, recall, recall_of, try_delete};
use im_tests::routes::{EDIT, MEMBERS, RECALL};
use im_tests::seed;
use im_tests::shape;
use im_tests::talk::{group, send, text};
use im_tests::tenant::Tenant;
use im_tests::walk::list_all;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const USERS: [&str; 4] = ["ann", "ben", "cid", "dan"];
const ROOMS: usize = 6;
const STEPS: usize = 400;
/// Up to this age senders can take back what they said, whatever else goes slowly; the time is longer.
const YOUNG: Duration = Duration::from_secs(60);

/// One message, as the model remembers it.
struct Said {
    id: u64,
    sender: usize,
    counts: bool,
    at: Instant,
    what: What,
}

enum What {
    Said,
    /// By which action, with the answer to whoever did it.
    Gone(Action, Value),
    Control,
}

/// What takes a message away.
#[derive(Clone, Copy, PartialEq)]
enum Action {
    Recall,
    Delete,
}

impl Action {
    async fn carry_out(self, by: &Client, room: &str, id: &Value) -> Value {
        match self {
            Self::Recall => recall(by, room, id).await,
            Self::Delete => delete(by, room, id).await,
        }
    }

    /// The code of the refusal.
    async fn refused(self, by: &Client, room: &str, id: &Value) -> String {
        let problem = match self {
            Self::Recall => by.patient_post(RECALL, recall_of(room, id)).await.body,
            Self::Delete => try_delete(by, room, id).await["error"].clone(),
        };
        shape::text(&problem, "code").to_owned()
    }
}

/// A user in a room: up to where everything is read, unless the user is out.
#[derive(Clone, Copy)]
struct Reader {
    read: u64,
}

#[derive(Default)]
struct Room {
    said: Vec<Said>,
    /// By user; Ann is always in.
    readers: [Option<Reader>; USERS.len()],
}

impl Room {
    fn head(&self) -> u64 {
        self.said.last().map_or(0, |one| one.id)
    }

    fn unread(&self, user: usize) -> Option<u64> {
        let reader = self.readers[user]?;
        let unread = |one: &&Said| one.counts && one.sender != user && one.id > reader.read;
        Some(self.said.iter().filter(unread).count() as u64)
    }
}

struct History {
    rng: Rng,
    users: [Client; USERS.len()],
    rooms: Vec<Room>,
    sent: usize,
}

fn name(room: usize) -> String {
    format!("room-{room}")
}

impl History {
    async fn new(tenant: &Tenant, rng: Rng) -> Self {
        let users = USERS.map(|user| tenant.user(user));
        let mut rooms = Vec::new();
        for n in 0..ROOMS {
            group(&users[0], &name(n), &USERS[1..]).await;
            rooms.push(Room { readers: [Some(Reader { read: 0 }); USERS.len()], ..Room::default() });
        }
        Self { rng, users, rooms, sent: 0 }
    }

    async fn step(&mut self) {
        let (room, user) = (self.rng.usize(..ROOMS), self.rng.usize(..USERS.len()));
        match self.rng.u8(..14) {
            0..5 => self.say(room, user).await,
            5..7 => self.read(room, user).await,
            7 => self.mute(room, user).await,
            8 | 9 => self.take_away(room, user).await,
            10 | 11 => self.edit(room, user).await,
            _ => self.come_or_go(room, user).await,
        }
    }

    async fn say(&mut self, room: usize, user: usize) {
        if self.rooms[room].readers[user].is_none() {
            return;
        }
        let silent = self.rng.u8(..5) == 0;
        self.sent += 1;
        let mut message = text(&name(room), &self.sent.to_string(), &self.sent.to_string());
        message["silent"] = silent.into();
        if let Some(quoted) = self.any(room).filter(|_| self.sent.is_multiple_of(3))
            && !matches!(self.rooms[room].said[quoted].what, What::Control)
        {
            message["replyTo"] = json!({"msgId": self.rooms[room].said[quoted].id.to_string()});
        }
        let receipt = send(&self.users[user], message).await;
        let id = shape::id(&receipt, "msgId");
        let said = Said { id, sender: user, counts: !silent, at: Instant::now(), what: What::Said };
        self.rooms[room].said.push(said);
    }

    /// The place of any message.
    fn any(&mut self, room: usize) -> Option<usize> {
        let count = self.rooms[room].said.len();
        (count > 0).then(|| self.rng.usize(..count))
    }

    /// Recalls or deletes any message, perhaps one that the user may not, or one that is gone.
    async fn take_away(&mut self, room: usize, user: usize) {
        let Some(at) = self.any(room) else { return };
        let action = if self.rng.bool() { Action::Recall } else { Action::Delete };
        let (client, said) = (self.users[user].clone(), &self.rooms[room].said[at]);
        let (name, id) = (name(room), json!(said.id.to_string()));
        let (rules, own) = (user == 0, said.sender == user);
        if self.rooms[room].readers[user].is_none() {
            assert_eq!(action.refused(&client, &name, &id).await, "not_member");
            return;
        }
        match &said.what {
            What::Control => assert_eq!(action.refused(&client, &name, &id).await, "invalid_request"),
            What::Gone(before, answer) if *before == action => {
                assert_eq!(&action.carry_out(&client, &name, &id).await, answer, "the first answer");
            }
            What::Gone(..) => assert_eq!(action.refused(&client, &name, &id).await, "conflict"),
            What::Said if rules || (own && said.at.elapsed() < YOUNG) => {
                let answer = action.carry_out(&client, &name, &id).await;
                self.told(room, user, &answer);
                let said = &mut self.rooms[room].said[at];
                said.counts = false;
                said.what = What::Gone(action, answer);
            }
            What::Said if !own => assert_eq!(action.refused(&client, &name, &id).await, "forbidden"),
            What::Said => {}
        }
    }

    /// Edits any message, perhaps one that the user may not.
    async fn edit(&mut self, room: usize, user: usize) {
        let Some(at) = self.any(room) else { return };
        self.sent += 1;
        let content = format!("edited {}", self.sent);
        let (client, said) = (self.users[user].clone(), &self.rooms[room].said[at]);
        let (name, id) = (name(room), json!(said.id.to_string()));
        let code = match &said.what {
            _ if self.rooms[room].readers[user].is_none() => "not_member",
            What::Control => "invalid_request",
            What::Gone(..) => "conflict",
            What::Said if said.sender != user => "forbidden",
            What::Said => {
                let answer = edit(&client, &name, &id, &content).await;
                return self.told(room, user, &answer);
            }
        };
        client.patient_post(EDIT, edit_of(&name, &id, &content)).await.refused(code);
    }

    /// Remembers the control message of a revision.
    fn told(&mut self, room: usize, sender: usize, answer: &Value) {
        let (id, at, what) = (shape::id(answer, "controlMsgId"), Instant::now(), What::Control);
        self.rooms[room].said.push(Said { id, sender, counts: false, at, what });
    }

    /// Reads up to any message, perhaps one that was read.
    async fn read(&mut self, room: usize, user: usize) {
        let at = self.any(room);
        let id = at.map_or(0, |at| self.rooms[room].said[at].id);
        let Some(reader) = &mut self.rooms[room].readers[user] else { return };
        reader.read = reader.read.max(id);
        let wanted = reader.read;
        let state = read(&self.users[user], &name(room), &json!(id.to_string())).await;
        assert_eq!(shape::id(&state, "readMsgId"), wanted);
        assert_eq!(Some(shape::int(&state, "unread")), self.rooms[room].unread(user), "{}", name(room));
    }

    async fn mute(&mut self, room: usize, user: usize) {
        if self.rooms[room].readers[user].is_some() {
            update(&self.users[user], &name(room), json!({"muted": self.rng.bool()})).await;
        }
    }

    /// Who joins has read what was said before.
    async fn come_or_go(&mut self, room: usize, user: usize) {
        if user == 0 {
            return;
        }
        let head = self.rooms[room].head();
        let reader = &mut self.rooms[room].readers[user];
        let change = if reader.is_some() { "remove" } else { "add" };
        *reader = match reader {
            Some(_) => None,
            None => Some(Reader { read: head }),
        };
        let body: Value = json!({"conversationId": name(room), change: [USERS[user]]});
        self.users[0].patient(MEMBERS, body).await;
    }

    /// Expects every user's conversations and unread messages to be the model's.
    async fn is_as_told(&self) {
        for (n, user) in self.users.iter().enumerate() {
            let listed = list_all(user, 100).await;
            let mut found: Vec<(String, u64)> = listed
                .iter()
                .map(|one| (shape::text(one, "conversationId").to_owned(), shape::int(one, "unread")))
                .collect();
            found.sort();
            let rooms = self.rooms.iter().enumerate();
            let wanted: Vec<(String, u64)> =
                rooms.filter_map(|(room, one)| Some((name(room), one.unread(n)?))).collect();
            assert_eq!(found, wanted, "{}", USERS[n]);
            let unread = wanted.iter().map(|(_, unread)| *unread);
            let totals = (unread.clone().filter(|unread| *unread > 0).count() as u64, unread.sum());
            assert_eq!(offline(user).await, totals, "{}", USERS[n]);
        }
    }
}

#[tokio::test]
async fn a_device_ends_up_with_what_its_user_may_read() {
    let mut rng = seed::rng("a_device_ends_up_with_what_its_user_may_read");
    let tenant = Tenant::new("follow-random");
    let mut history = History::new(&tenant, rng.fork()).await;
    let device = |user: &str, n: usize| tenant.device(user, &format!("{user}-{n}"));
    let mut devices: Vec<ModelDevice> = USERS
        .iter()
        .flat_map(|user| [ModelDevice::new(device(user, 0), 1), ModelDevice::new(device(user, 1), 50)])
        .collect();
    for step in 0..STEPS {
        history.step().await;
        let device = rng.choice(&mut devices).expect("there are some");
        match rng.u8(..6) {
            0 => drop(device.step().await),
            1 => device.step_in_vain().await,
            2 if step % 20 == 0 => device.until_quiet().await,
            _ => {}
        }
        if step % 100 == 99 {
            history.is_as_told().await;
        }
    }
    for device in &mut devices {
        device.until_quiet().await;
        device.has_everything().await;
        assert_eq!(device.resets, 0, "nothing was lost");
    }
    history.is_as_told().await;
}
