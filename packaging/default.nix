# For Nix: nix-build -E '(import <nixpkgs> { }).callPackage ./packaging { }'
{ lib, stdenv, cmake, python3 }:

stdenv.mkDerivation {
  pname = "tslab";
  version = "0.4.0";
  src = lib.cleanSource ../.;
  nativeBuildInputs = [ cmake python3 ];
  meta = {
    description = "Memory allocator that keeps long-running programs small";
    license = with lib.licenses; [ mit asl20 isc bsd3 ];
    platforms = [ "x86_64-linux" "aarch64-linux" "riscv64-linux" ];
  };
}
