#compdef hogwild
# Completion of hogwild for zsh. In ~/.zshrc, after compinit:
#     source <(hogwild completion zsh)
# hogwild itself lists what may follow, so this file fits every version of it.
_hogwild() {
    local line name about
    local -i ret=1
    local -a whole open
    for line in "${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        name=${line%%$'\t'*} about=${line#*$'\t'}
        case $name in
        '') ;;
        :files) compset -P '*='; _files && ret=0 ;;
        :folders) compset -P '*='; _files -/ && ret=0 ;;
        *[=:,]) open+=("${name//:/\\:}:$about") ;;
        *) whole+=("${name//:/\\:}:$about") ;;
        esac
    done
    (( ${#whole} )) && _describe hogwild whole && ret=0
    (( ${#open} )) && _describe hogwild open -S '' && ret=0
    return ret
}
if [[ ${funcstack[1]} == _hogwild ]]; then _hogwild "$@"; else compdef _hogwild hogwild; fi
