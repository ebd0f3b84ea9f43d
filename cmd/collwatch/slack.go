package main

import "github.com/collwatch/collwatch/incidents"

func (g *generation) addSlack(deliverySource) error { return nil }

func slackText(inc *incidents.Incident, r *incidents.Renderer) string {
	return r.Annotations(inc)["description"]
}
