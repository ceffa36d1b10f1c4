# Completion of hogwild for bash. In ~/.bashrc:
#     source <(hogwild completion bash)
# hogwild itself lists what may follow, so this file fits every version of it.
_hogwild() {
    local IFS=$' \t\n' words word line name part
    read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=('')
    word=${words[${#words[@]} - 1]}
    # readline takes = and : for the ends of words; what stands before the last one is kept.
    part=${word%"${word##*[=:]}"}
    COMPREPLY=()
    while IFS= read -r line; do
        name=${line%%$'\t'*}
        case $name in
        :files | :folders)
            compopt -o filenames
            local kind=-f
            [[ $name == :folders ]] && kind=-d
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen $kind -- "${word##*=}")
            ;;
        *)
            [[ $name == *[=:,] ]] && compopt -o nospace
            COMPREPLY+=("${name#"$part"}")
            ;;
        esac
    done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _hogwild hogwild
