module tslab

go 1.20
