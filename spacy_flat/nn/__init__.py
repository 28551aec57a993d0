"""What several networks share, in plain torch: positions, attention, CRF, and the thinc shim."""
