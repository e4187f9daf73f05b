# Work for bash: everything that it keeps on the heap, and many children.
set -eu

fibonacci() { (($1 < 2)) && echo "$1" || echo $(($(fibonacci $(($1 - 1))) + $(fibonacci $(($1 - 2))))); }
fibonacci 8

declare -A squares
for ((i = 0; i < 3000; i++)); do squares[key-$i]=$((i * i)); done
sum=0
for key in "${!squares[@]}"; do sum=$((sum + squares[$key])); done
echo "${#squares[@]} $sum"

list=()
for ((i = 0; i < 3000; i++)); do list+=("element number $i"); done
list=("${list[@]/number/No.}")
echo "${list[17]} ${#list[@]}"

text=
for ((i = 0; i < 2000; i++)); do text+="$i,"; done
echo "${#text} ${text:500:20} ${text//9/nine}" | cksum

for ((i = 0; i < 60; i++)); do echo "line $((i * 7919 % 61))"; done | sort | uniq | tail -n 1
while read -r a b; do printf '%s-%s ' "$b" "$a"; done < <(for ((i = 0; i < 50; i++)); do echo "$i $((i * 2))"; done)
echo
for ((i = 0; i < 20; i++)); do (exit $i) || true; done
cat <<END | tr a-z A-Z
here is $(echo a document) of ${#list[@]} elements
END
wait
[[ "a string that matches 42" =~ ([0-9]+)$ ]] && echo "${BASH_REMATCH[1]}"
