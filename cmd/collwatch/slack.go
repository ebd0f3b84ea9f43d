package main

func (g *generation) addSlack(deliverySource) error { return nil }
