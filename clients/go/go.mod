module github.com/tenure/tenure/clients/go

go 1.19
