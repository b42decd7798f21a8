//! Gives every request in flight an id of our own, so that no two are ever confused.
//!
//! The SDK keys its requests by the client's ids. When a client uses an id twice, one of the two
//! would never be answered, and the first could not be cancelled any more. Here each request gets
//! a number of ours on the way in and its own id back on the way out.

use std::collections::{HashMap, VecDeque};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};

/// The requests that were handed on and not answered yet.
#[derive(Debug, Default)]
pub(super) struct Flights {
    next: i64,
    open: HashMap<i64, RequestId>,
    /// Further messages to hand on: one cancellation for each request that has the named id.
    queued: VecDeque<ClientJsonRpcMessage>,
}

impl Flights {
    /// A message that waits to be handed on before anything new is taken.
    pub(super) fn queued(&mut self) -> Option<ClientJsonRpcMessage> {
        self.queued.pop_front()
    }

    /// Renames a message of the client; `None` for a cancellation that concerns nothing here.
    pub(super) fn admit(
        &mut self,
        mut message: ClientJsonRpcMessage,
    ) -> Option<ClientJsonRpcMessage> {
        match &mut message {
            JsonRpcMessage::Request(request) => {
                let number = self.next;
                self.next += 1;
                let id = std::mem::replace(&mut request.id, RequestId::Number(number));
                self.open.insert(number, id);
                Some(message)
            }
            JsonRpcMessage::Notification(notification) => {
                let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                else {
                    return Some(message);
                };
                let id = cancelled.params.request_id.clone()?;
                let mut numbers: Vec<_> =
                    self.open.iter().filter(|(_, own)| **own == id).map(|(n, _)| *n).collect();
                numbers.sort_unstable();
                for number in numbers {
                    // The SDK will not answer it any more.
                    self.open.remove(&number);
                    let mut cancelled = cancelled.clone();
                    cancelled.params.request_id = Some(RequestId::Number(number));
                    self.queued.push_back(JsonRpcMessage::notification(
                        ClientNotification::CancelledNotification(cancelled),
                    ));
                }
                self.queued.pop_front()
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Some(message),
        }
    }

    /// Gives an answer the client's own id back; `None` when nobody waits for it.
    pub(super) fn answer(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> Option<ServerJsonRpcMessage> {
        let id = match &mut message {
            JsonRpcMessage::Response(response) => &mut response.id,
            JsonRpcMessage::Error(error) => error.id.as_mut()?,
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => return Some(message),
        };
        let RequestId::Number(number) = id else { return None };
        *id = self.open.remove(number)?;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn client(value: Value) -> ClientJsonRpcMessage {
        serde_json::from_value(value).unwrap()
    }

    fn ping(id: impl Into<Value>) -> ClientJsonRpcMessage {
        client(json!({ "jsonrpc": "2.0", "id": id.into(), "method": "ping" }))
    }

    fn cancel(params: Value) -> ClientJsonRpcMessage {
        client(json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params
        }))
    }

    fn number(message: &ClientJsonRpcMessage) -> i64 {
        match message {
            JsonRpcMessage::Request(request) => match request.id {
                RequestId::Number(number) => number,
                RequestId::String(_) => panic!("a string"),
            },
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ClientNotification::CancelledNotification(cancelled) => {
                    match cancelled.params.request_id {
                        Some(RequestId::Number(number)) => number,
                        _ => panic!("no number"),
                    }
                }
                _ => panic!("no cancellation"),
            },
            _ => panic!("neither"),
        }
    }

    fn answered(flights: &mut Flights, number: i64) -> Option<Value> {
        let answer = json!({ "jsonrpc": "2.0", "id": number, "result": {} });
        let answer = flights.answer(serde_json::from_value(answer).unwrap())?;
        Some(serde_json::to_value(answer).unwrap()["id"].clone())
    }

    #[test]
    fn one_id_twice_in_flight_is_answered_twice() {
        let mut flights = Flights::default();
        let first = number(&flights.admit(ping(7)).unwrap());
        let second = number(&flights.admit(ping(7)).unwrap());
        assert_ne!(first, second);
        assert_eq!(answered(&mut flights, second), Some(json!(7)));
        assert_eq!(answered(&mut flights, first), Some(json!(7)));
        assert_eq!(answered(&mut flights, first), None);
    }

    #[test]
    fn ids_come_back_as_they_were_sent() {
        let mut flights = Flights::default();
        for id in [json!("7"), json!(7), json!(""), json!(-1), json!(i64::MAX)] {
            let number = number(&flights.admit(ping(id.clone())).unwrap());
            assert_eq!(answered(&mut flights, number), Some(id));
        }
    }

    #[test]
    fn a_cancellation_reaches_every_request_of_that_id_and_no_other() {
        let mut flights = Flights::default();
        let _other = flights.admit(ping("7")).unwrap();
        let first = number(&flights.admit(ping(7)).unwrap());
        let second = number(&flights.admit(ping(7)).unwrap());
        let cancelled = flights.admit(cancel(json!({ "requestId": 7, "reason": "x" }))).unwrap();
        assert_eq!(number(&cancelled), first);
        assert_eq!(number(&flights.queued().unwrap()), second);
        assert!(flights.queued().is_none());
        assert_eq!(answered(&mut flights, first), None);
        assert!(flights.admit(cancel(json!({ "requestId": 7 }))).is_none());
    }

    #[test]
    fn a_stray_cancellation_never_hits_our_own_numbers() {
        let mut flights = Flights::default();
        let number = number(&flights.admit(ping(41)).unwrap());
        assert!(flights.admit(cancel(json!({ "requestId": number }))).is_none());
        assert!(flights.admit(cancel(json!({}))).is_none());
        assert_eq!(answered(&mut flights, number), Some(json!(41)));
    }
}
