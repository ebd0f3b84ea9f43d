// Package web shows what collwatch knows: status pages and a read-only JSON API.
//
// It exists so that an alert can link to its own evidence. It changes nothing:
// silencing is Alertmanager's, and acting is people's.
package web
