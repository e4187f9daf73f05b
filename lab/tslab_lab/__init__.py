"""The lab of tslab: measures programs and workloads on tslab and on other allocators. The command is `tslab`."""
