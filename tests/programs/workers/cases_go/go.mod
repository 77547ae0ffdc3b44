module cases

go 1.19

require github.com/tenure/tenure/clients/go v0.0.0

replace github.com/tenure/tenure/clients/go => ../../../../clients/go
