# Completion of hogwild for fish. In ~/.config/fish/config.fish:
#     hogwild completion fish | source
# hogwild itself lists what may follow, so this file fits every version of it.
function __hogwild_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] complete -- $words[2..] "$word" 2>/dev/null)
        switch $line
            case ':files*' ':folders*'
                set -l before (string match -r '^--[^=]*=' -- $word)
                set -l path (string replace -r '^--[^=]*=' '' -- $word)
                for file in (__fish_complete_path $path)
                    echo "$before$file"
                end
            case '*'
                echo $line
        end
    end
end
complete -c hogwild -f -a '(__hogwild_complete)'
