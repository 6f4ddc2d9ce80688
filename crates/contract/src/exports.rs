//! The exports of a storage component: from the contract's types to an engine and back.

/// Implements the exported interfaces for `$component`.
///
/// Called beside [`conversions`](crate::conversions), with the same generated modules in scope. Every
/// call is checked against the limits of a request and then given to `$with_engine`, an
/// `async fn<T>(impl AsyncFnOnce(E) -> im_domain::Result<T>) -> im_domain::Result<T>` that hands out
/// the engine, an `im_domain::storage::Storage`.
#[macro_export]
macro_rules! exports {
    ($component:ident, $with_engine:ident) => {
        const _: () = {
            use im_domain::limits::{
                BATCH_MESSAGES_MAX, BATCH_PULLS_MAX, GET_IDS_MAX, HIDE_IDS_MAX, RUN_MS_MAX, check_count,
            };
            use im_domain::storage::{Actor, Storage};
            use im_domain::{ConversationId, DeviceId, Result, Tenant};

            impl messages::Guest for $component {
                async fn append(
                    actor: types::Actor,
                    drafts: Vec<types::Draft>,
                    ack: types::Ack,
                ) -> Result<Vec<Result<types::Receipt, types::Error>>, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    check_count("messages", drafts.len(), BATCH_MESSAGES_MAX)?;
                    let drafts = $crate::all(drafts)?;
                    let ack = ack.into();
                    let done = $with_engine(async |engine| engine.append(&actor, drafts, ack).await);
                    Ok($crate::items(done.await?))
                }

                async fn revise(
                    actor: types::Actor,
                    revision: messages::Revision,
                ) -> Result<messages::Revised, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let revision = revision.try_into()?;
                    Ok($with_engine(async |engine| engine.revise(&actor, &revision).await).await?.into())
                }

                async fn hide(
                    actor: types::Actor,
                    conversation: String,
                    ids: Vec<types::MsgId>,
                ) -> Result<Vec<Result<(), types::Error>>, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let conversation = ConversationId::parse(conversation)?;
                    check_count("msgIds", ids.len(), HIDE_IDS_MAX)?;
                    let ids = ids.into_iter().map($crate::msg_id).collect::<Result<Vec<_>>>()?;
                    let done = $with_engine(async |engine| engine.hide(&actor, &conversation, &ids).await);
                    Ok($crate::items(done.await?))
                }

                async fn versions(
                    actor: types::Actor,
                    conversation: String,
                    id: types::MsgId,
                ) -> Result<Vec<messages::Version>, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let conversation = ConversationId::parse(conversation)?;
                    let id = $crate::msg_id(id)?;
                    let done = $with_engine(async |engine| engine.versions(&actor, &conversation, id).await);
                    Ok($crate::each(done.await?))
                }

                async fn pages(
                    actor: types::Actor,
                    queries: Vec<messages::PageQuery>,
                ) -> Result<Vec<Result<types::Page, types::Error>>, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    check_count("requests", queries.len(), BATCH_PULLS_MAX)?;
                    let queries = $crate::all(queries)?;
                    let done = $with_engine(async |engine| engine.page(&actor, queries).await);
                    Ok($crate::items(done.await?))
                }

                async fn get(
                    actor: types::Actor,
                    conversation: String,
                    ids: Vec<types::MsgId>,
                ) -> Result<messages::Found, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let conversation = ConversationId::parse(conversation)?;
                    check_count("msgIds", ids.len(), GET_IDS_MAX)?;
                    let ids = ids.into_iter().map($crate::msg_id).collect::<Result<Vec<_>>>()?;
                    let done = $with_engine(async |engine| engine.get(&actor, &conversation, &ids).await);
                    Ok(done.await?.into())
                }
            }

            impl conversations::Guest for $component {
                async fn create(
                    actor: types::Actor,
                    new: conversations::NewConversation,
                ) -> Result<types::Conversation, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let new = new.try_into()?;
                    Ok($with_engine(async |engine| engine.create(&actor, new).await).await?.into())
                }

                async fn change_members(
                    actor: types::Actor,
                    conversation: String,
                    change: conversations::MemberChange,
                ) -> Result<types::Conversation, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let id = ConversationId::parse(conversation)?;
                    let change = change.try_into()?;
                    let done = $with_engine(async |engine| engine.change_members(&actor, &id, change).await);
                    Ok(done.await?.into())
                }

                async fn update(
                    actor: types::Actor,
                    conversation: String,
                    change: conversations::ConversationChange,
                ) -> Result<types::Conversation, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let id = ConversationId::parse(conversation)?;
                    let change = change.into();
                    let done = $with_engine(async |engine| engine.update(&actor, &id, change).await);
                    Ok(done.await?.into())
                }

                async fn get(
                    actor: types::Actor,
                    conversation: String,
                ) -> Result<types::Conversation, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let conversation = ConversationId::parse(conversation)?;
                    let done = $with_engine(async |engine| engine.conversation(&actor, &conversation).await);
                    Ok(done.await?.into())
                }

                async fn list(
                    actor: types::Actor,
                    cursor: String,
                    limit: u32,
                ) -> Result<conversations::ConversationList, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let limit = im_domain::page::check_limit(limit)?;
                    Ok($with_engine(async |engine| engine.list(&actor, &cursor, limit).await).await?.into())
                }
            }

            impl positions::Guest for $component {
                async fn sync(
                    actor: types::Actor,
                    device: String,
                    query: positions::SyncQuery,
                ) -> Result<positions::SyncPage, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let device = DeviceId::parse(device)?;
                    let query = query.try_into()?;
                    Ok($with_engine(async |engine| engine.sync(&actor, &device, query).await).await?.into())
                }

                async fn global(
                    actor: types::Actor,
                    device: Option<String>,
                    cursor: String,
                    limit: u32,
                ) -> Result<positions::Changes, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let device = device.map(DeviceId::parse).transpose()?;
                    let cursor = im_domain::global::GlobalCursor::parse(&cursor)?;
                    let limit = im_domain::page::check_limit(limit)?;
                    let done = $with_engine(async |engine| {
                        engine.global(&actor, device.as_ref(), cursor, limit).await
                    });
                    Ok(done.await?.into())
                }

                async fn digest(
                    actor: types::Actor,
                    device: Option<String>,
                    cursor: String,
                    limit: u32,
                    latest: u32,
                ) -> Result<positions::DigestPart, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let device = device.map(DeviceId::parse).transpose()?;
                    let limit = im_domain::page::check_limit(limit)?;
                    let latest = im_domain::page::check_latest(latest)?;
                    let done = $with_engine(async |engine| {
                        engine.digest(&actor, device.as_ref(), &cursor, limit, latest).await
                    });
                    Ok(done.await?.into())
                }

                async fn read(
                    actor: types::Actor,
                    conversation: String,
                    up_to: types::MsgId,
                ) -> Result<positions::ReadState, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let conversation = ConversationId::parse(conversation)?;
                    let up_to = $crate::msg_id(up_to)?;
                    let done = $with_engine(async |engine| engine.read(&actor, &conversation, up_to).await);
                    Ok(done.await?.into())
                }

                async fn totals(actor: types::Actor) -> Result<positions::UnreadTotals, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    Ok($with_engine(async |engine| engine.totals(&actor).await).await?.into())
                }

                async fn devices(
                    actor: types::Actor,
                    forget: Option<String>,
                ) -> Result<Vec<positions::Device>, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let forget = forget.map(DeviceId::parse).transpose()?;
                    let done = $with_engine(async |engine| engine.devices(&actor, forget.as_ref()).await);
                    Ok($crate::each(done.await?))
                }
            }

            impl push::Guest for $component {
                async fn settings(
                    actor: types::Actor,
                    change: push::PushSettingsChange,
                ) -> Result<push::PushSettings, types::Error> {
                    let actor = Actor::try_from(actor)?;
                    let change = change.try_into()?;
                    Ok($with_engine(async |engine| engine.push_settings(&actor, change).await).await?.into())
                }

                async fn due(
                    tenant: String,
                    limit: u32,
                    confirm: Vec<String>,
                ) -> Result<Vec<push::DueUser>, types::Error> {
                    let tenant = Tenant::parse(tenant)?;
                    let limit = im_domain::page::check_limit(limit)?;
                    let done = $with_engine(async |engine| engine.push_due(&tenant, limit, &confirm).await);
                    Ok($crate::each(done.await?))
                }
            }

            impl upkeep::Guest for $component {
                async fn run(
                    tasks: Vec<upkeep::Task>,
                    max_ms: u64,
                ) -> Result<upkeep::RunReport, types::Error> {
                    let tasks: Vec<_> = $crate::each(tasks);
                    let max_ms = max_ms.min(RUN_MS_MAX);
                    Ok($with_engine(async |engine| engine.run(&tasks, max_ms).await).await?.into())
                }

                async fn dead_letters(
                    tenant: String,
                    action: upkeep::DeadLetterAction,
                    limit: u32,
                ) -> Result<Vec<upkeep::DeadLetter>, types::Error> {
                    let tenant = Tenant::parse(tenant)?;
                    let limit = im_domain::page::check_limit(limit)?;
                    let action = action.into();
                    let letters =
                        $with_engine(async |engine| engine.dead_letters(&tenant, action, limit).await);
                    Ok($crate::each(letters.await?))
                }

                async fn status(tenant: String) -> Result<upkeep::StoreStatus, types::Error> {
                    let tenant = Tenant::parse(tenant)?;
                    Ok($with_engine(async |engine| engine.status(&tenant).await).await?.into())
                }

                async fn ready() -> Result<(), types::Error> {
                    Ok($with_engine(async |engine| engine.ready().await).await?)
                }
            }
        };
    };
}

/// Each item's outcome in the contract's terms.
#[doc(hidden)]
pub fn items<T, W: From<T>, E: From<im_domain::Error>>(
    outcomes: Vec<im_domain::Result<T>>,
) -> Vec<Result<W, E>> {
    outcomes.into_iter().map(|outcome| Ok(outcome?.into())).collect()
}
