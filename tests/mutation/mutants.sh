# What a mutant is, and a copy of the tree to try it in. Sourced by whoever tries mutants, in the project's directory; they
# have `fail`.
# shellcheck shell=bash
mutants=tests/mutation/mutants
tree='' # where the copy is; they say so

# Of one: what it is, its file, the unit tests to try first, the preset that compiles that file ("": the usual build),
# the text to replace, and by what.
what='' file='' unit=() preset='' old='' new=''

# The sections of a mutant's file follow each other: everything between "replace:" and "with:", and
# from there to the end, is text.
read_mutant() { # NAME
    local path=$mutants/$1.mutant text begin=4
    what=$(sed -n '1s/^what: //p' "$path")
    file=$(sed -n '2s/^file: //p' "$path")
    read -ra unit < <(sed -n '3s/^unit: //p' "$path")
    preset=$(sed -n '4s/^preset: //p' "$path")
    [[ -z $preset ]] || begin=5
    [[ -n $what && -n $file && ${#unit[@]} -gt 0 && $preset =~ ^(secure)?$ &&
        $(sed -n "${begin}p" "$path") == replace: ]] ||
        fail "$1: must begin with what:, file:, unit:, perhaps preset: secure, and replace:"
    text=$(tail -n "+$((begin + 1))" "$path")
    [[ $text == *$'\n'with:* ]] || fail "$1: has no with:"
    old=${text%%$'\n'with:*}
    new=${text#*$'\n'with:}
    new=${new#$'\n'}
}

# The text must be there exactly once: a mutant that fits no more must not pass unnoticed.
check_mutant() { # NAME
    local content rest
    read_mutant "$1"
    content=$(<"$file")
    rest=${content#*"$old"}
    [[ $rest != "$content" ]] || fail "$1: its text is not in $file"
    [[ $rest != *"$old"* ]] || fail "$1: its text is in $file more than once"
}

mutate() {
    local content rest
    content=$(<"$file")
    rest=${content#*"$old"}
    printf '%s\n' "${content%%"$old"*}$new$rest" >"$tree/$file"
}

# Copies the files that stdin names into the tree, and takes those away that are no longer there: they would be found
# before what has taken their place.
copy_into_tree() {
    local path list
    list=$(mktemp)
    sort >"$list"
    while IFS= read -r path; do
        if ! cmp -s "$path" "$tree/$path"; then
            mkdir -p "$tree/$(dirname "$path")"
            cp "$path" "$tree/$path"
        fi
    done <"$list"
    while read -r path; do
        rm "$tree/$path"
    done < <(cd "$tree" && find . -type f | sed 's,^\./,,' | sort | comm -23 - "$list")
    rm "$list"
}
