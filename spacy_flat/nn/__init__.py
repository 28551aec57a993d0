"""Parts of several networks in plain torch: layers, attention, CRF; and the thinc shim."""
