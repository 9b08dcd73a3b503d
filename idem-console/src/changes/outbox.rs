//! Gives dead events their attempts back, and lets paused topics go on.

use idem_messaging::outbox::DeadEvents;

use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::fields::query;
use crate::pages::event::event_id;
use crate::site::Visit;

pub(crate) async fn requeue<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<String, Fault> {
    let author = visit.author()?;
    let meant = match (visit.fields.filled("id"), visit.fields.filled("topic")) {
        (Some(id), None) => DeadEvents::Id(event_id(id)?),
        (None, Some(_)) => DeadEvents::Topic(visit.fields.get("topic").to_owned()),
        _ => {
            return Err(Fault::bad(
                "Name one event, or one topic. Nothing was changed.",
            ));
        }
    };
    let site = &visit.site;
    let outbox = site.outbox()?;
    if outbox.requeue_audited(&site.pool, &meant, &author).await? == 0 {
        return Err(Fault::changed_event());
    }
    Ok(match meant {
        DeadEvents::Id(id) => {
            format!(
                "/event?{}",
                query([("id", id.as_str()), ("done", "requeued")])
            )
        }
        _ => "/outbox?done=requeued".to_owned(),
    })
}

pub(crate) async fn resume<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<String, Fault> {
    let author = visit.author()?;
    let topic = visit.fields.get("topic");
    let site = &visit.site;
    let resumed = site
        .outbox()?
        .resume_audited(&site.pool, topic, &author)
        .await?;
    if resumed.is_none() {
        return Err(Fault::bad("The topic is not paused. Nothing was changed."));
    }
    Ok("/outbox?done=resumed".to_owned())
}
