//! `idem outbox`.

use idem_messaging::outbox::{
    DeadEvents, EventCount, EventFilter, EventId, EventState, EventSummary, Outbox as Table,
    OutboxError,
};
use idem_runtime::operate::OperateBackend;
use serde_json::{Value, json};
use sqlx::Pool;

use super::change::author;
use crate::args::{Events, Outbox, OutboxCommand, Sign, State};
use crate::confirm::confirm;
use crate::fault::{Fault, Outcome};
use crate::view::{self, json_time, line, print_json, print_pairs, print_table, shown};

pub(super) async fn run<DB: OperateBackend>(
    pool: &Pool<DB>,
    args: Outbox,
    is_json: bool,
) -> Result<Outcome, Fault> {
    let table = Table::new()
        .table(&args.outbox_table)
        .map_err(|error| match error {
            error @ OutboxError::Table { .. } => Fault::usage(error.to_string()),
            error => Fault::environment(error.to_string()),
        })?;
    match args.command {
        OutboxCommand::Stats => stats(&table.count(pool).await?, is_json),
        OutboxCommand::List {
            state,
            topic,
            limit,
        } => {
            let filter = EventFilter {
                states: state.into_iter().map(state_of).collect(),
                topic,
                // One more shows whether there are more.
                limit: limit.saturating_add(1),
            };
            list(table.list(pool, &filter).await?, limit, is_json);
        }
        OutboxCommand::Show { id, reveal } => {
            return show(pool, &table, &id, reveal, is_json).await;
        }
        OutboxCommand::Requeue { events, sign } => {
            let meant = meant(events)?;
            let what = "published once more, with their attempts from the start";
            let author = agreed(&meant, what, &sign)?;
            let rows = table.requeue_audited(pool, &meant, &author).await?;
            return Ok(changed("requeued", some(rows)?, is_json));
        }
        OutboxCommand::Resume { topic, sign } => {
            let author = author(&sign)?;
            confirm(
                &format!("The topic {topic} will be published again."),
                sign.yes,
            )?;
            return match table.resume_audited(pool, &topic, &author).await? {
                Some(rows) => Ok(changed("resumed", rows, is_json)),
                None => Err(
                    Fault::refused("the topic is not paused; nothing was changed")
                        .mend("idem outbox stats"),
                ),
            };
        }
        OutboxCommand::Drop { events, sign } => {
            let meant = meant(events)?;
            let author = agreed(&meant, "deleted, AND NEVER PUBLISHED", &sign)?;
            let rows = table.drop_audited(pool, &meant, &author).await?;
            return Ok(changed("dropped", some(rows)?, is_json));
        }
    }
    Ok(Outcome::Done)
}

fn event_id(id: &str) -> Result<EventId, Fault> {
    EventId::parse(id).ok_or_else(|| {
        Fault::usage("an event's id has 64 lower-case hexadecimal digits")
            .mend("idem outbox list --json")
    })
}

fn meant(events: Events) -> Result<DeadEvents, Fault> {
    match (events.id, events.topic) {
        (Some(id), _) => Ok(DeadEvents::Id(event_id(&id)?)),
        (None, Some(topic)) => Ok(DeadEvents::Topic(topic)),
        (None, None) => Err(Fault::usage("no event is named").mend("give an id, or --topic")),
    }
}

fn agreed(
    meant: &DeadEvents,
    what: &str,
    sign: &Sign,
) -> Result<idem_runtime::operate::Author, Fault> {
    let which = match meant {
        DeadEvents::Topic(topic) => format!("All dead events of the topic {topic}"),
        _ => "The event, if it is dead,".to_owned(),
    };
    let author = author(sign)?;
    confirm(&format!("{which} will be {what}."), sign.yes)?;
    Ok(author)
}

fn some(rows: u64) -> Result<u64, Fault> {
    if rows > 0 {
        return Ok(rows);
    }
    Err(
        Fault::refused("there is no such dead event; nothing was changed")
            .mend("idem outbox list --state dead"),
    )
}

fn changed(verb: &str, rows: u64, is_json: bool) -> Outcome {
    if is_json {
        print_json(&json!({ verb: rows }));
    } else {
        line(&format!("events {verb}: {rows}"));
    }
    Outcome::Done
}

fn state_of(state: State) -> EventState {
    match state {
        State::Pending => EventState::Pending,
        State::Published => EventState::Published,
        State::Dead => EventState::Dead,
        State::Waiting => EventState::Waiting,
        State::Held => EventState::Held,
    }
}

fn stats(counts: &[EventCount], is_json: bool) {
    if is_json {
        let counts = counts.iter().map(|count| {
            json!({
                "topic": count.topic,
                "paused": count.is_paused,
                "state": count.state.to_string(),
                "events": count.events,
                "attempts": count.attempts,
                "oldest": json_time(count.oldest),
            })
        });
        print_json(&counts.collect::<Value>());
        return;
    }
    let rows = counts.iter().map(|count| {
        let oldest = count.oldest.map(|at| view::ago(at, count.read_at));
        let paused = if count.is_paused { " (paused)" } else { "" };
        [
            format!("{}{paused}", count.topic),
            count.state.to_string(),
            count.events.to_string(),
            count.attempts.to_string(),
            oldest.unwrap_or_default(),
        ]
    });
    print_table(
        ["TOPIC", "STATE", "EVENTS", "ATTEMPTS", "OLDEST"],
        rows,
        "no event",
    );
}

fn list(mut events: Vec<EventSummary>, limit: u32, is_json: bool) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let is_cut = events.len() > limit;
    events.truncate(limit);
    if is_json {
        let events = events.iter().map(json_of).collect::<Value>();
        print_json(&json!({ "events": events, "cut": is_cut }));
        return;
    }
    let rows = events.iter().map(|event| {
        let appended = event.appended_at.map(|at| view::ago(at, event.read_at));
        [
            event.seq.to_string(),
            event.topic.clone(),
            event.event_type.clone(),
            event.state.to_string(),
            event.attempts.to_string(),
            appended.unwrap_or_default(),
            event.id.clone(),
        ]
    });
    let header = [
        "SEQ", "TOPIC", "TYPE", "STATE", "ATTEMPTS", "APPENDED", "ID",
    ];
    print_table(header, rows, "no event");
    if is_cut {
        line(&format!(
            "cut at {limit}: there are more; --limit shows more of them, --topic or --state fewer"
        ));
    }
}

fn json_of(event: &EventSummary) -> Value {
    json!({
        "seq": event.seq,
        "id": event.id,
        "state": event.state.to_string(),
        "topic": event.topic,
        "partition_key": event.partition_key,
        "type": event.event_type,
        "source": event.source,
        "subject": event.subject,
        "attempts": event.attempts,
        "appended_at": json_time(event.appended_at),
        "due_at": json_time(event.due_at),
        "settled_at": json_time(event.settled_at),
        "payload_bytes": event.payload_bytes,
    })
}

async fn show<DB: OperateBackend>(
    pool: &Pool<DB>,
    table: &Table,
    id: &str,
    reveal: bool,
    is_json: bool,
) -> Result<Outcome, Fault> {
    let Some(event) = table.show(pool, &event_id(id)?).await? else {
        return Err(Fault::refused("the outbox has no event of this id"));
    };
    let summary = &event.summary;
    if is_json {
        let mut value = json_of(summary);
        value["last_error"] = json!(event.last_error);
        if reveal {
            value["headers"] = json!(event.headers);
            value["payload"] = json!(String::from_utf8_lossy(&event.payload));
        }
        print_json(&value);
        return Ok(Outcome::Done);
    }
    let time = |at: Option<_>| {
        at.map(|at| format!("{} ({})", view::time(at), view::ago(at, summary.read_at)))
    };
    let hidden = |bytes: &[u8]| {
        if reveal {
            shown(bytes)
        } else {
            format!("{} bytes, hidden (--reveal)", bytes.len())
        }
    };
    print_pairs([
        ("id", Some(summary.id.clone())),
        ("state", Some(summary.state.to_string())),
        ("topic", Some(summary.topic.clone())),
        ("partition key", summary.partition_key.clone()),
        ("type", Some(summary.event_type.clone())),
        ("source", Some(summary.source.clone())),
        ("subject", summary.subject.clone()),
        ("attempts", Some(summary.attempts.to_string())),
        ("appended", time(summary.appended_at)),
        ("due", time(summary.due_at)),
        ("settled", time(summary.settled_at)),
        (
            "last error",
            event
                .last_error
                .as_ref()
                .map(|error| shown(error.as_bytes())),
        ),
        (
            "headers",
            event
                .headers
                .as_ref()
                .map(|headers| hidden(headers.as_bytes())),
        ),
        ("payload", Some(hidden(&event.payload))),
    ]);
    Ok(Outcome::Done)
}
