# Writes the tensors of a file of torch.save to standard output, as safetensors. Nothing in the file is executed
# (weights_only). What is wrong is one line on standard error.
import sys

sys.path = [folder for folder in sys.path if folder]  # modules of the working folder are none of Python's
import ctypes, json, os, zipfile

path, most = sys.argv[1], int(sys.argv[2])
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what else is printed is not the file
ADVICE = 'save the weights alone: torch.save(net.state_dict(), "net.pt")'


def end(text):
    text = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    sys.stderr.write("\n" + text[:400])
    sys.exit(1)


try:
    import torch
except ImportError as e:
    sys.stderr.write("\n%s" % e)
    sys.exit(3)


def load():
    try:
        with open(path, "rb") as f:
            packed = f.read(4) == b"PK\x03\x04" and any(e.compress_type for e in zipfile.ZipFile(path).infolist())
        if not packed:
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as e:
        _, unsupported, name = str(e).partition("GLOBAL ")
        if unsupported:
            end("names %.100s, which is not carried out: only tensors are read; %s" % (name.split(" ")[0], ADVICE))
        said = (str(e).partition("Unpickler error:")[2] or str(e)).strip() or type(e).__name__
        end("is damaged, or holds more than tensors (%.150s): %s" % (said.splitlines()[0], ADVICE))
    end("is not an archive of torch.save: it is compressed")


def state_dict(top):
    has = lambda d: isinstance(d, dict) and any(isinstance(v, torch.Tensor) for v in d.values())
    if isinstance(top, torch.Tensor):
        end("holds a single tensor, of shape %s, without a name: %s" % (list(top.shape), ADVICE))
    if not isinstance(top, dict):
        end("holds %s, and not a state_dict: %s" % (type(top).__name__, ADVICE))
    if has(top):
        return top
    found = {}
    for key, d in top.items():
        if isinstance(key, str) and has(d) and not any(d is o for o in found.values()):
            found[key] = d
    usual = [key for key in ("state_dict", "model_state_dict", "model") if key in found]
    if not found:
        end("holds no tensors: " + ADVICE)
    if len(found) > 1 and len(usual) != 1:
        end("holds several state_dicts, %.200s: save one of them alone" % ", ".join(found))
    return found[usual[0] if len(usual) == 1 else next(iter(found))]


TYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
         torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}
try:
    tensors, header, size = state_dict(load()), {}, 0
    for name, t in tensors.items():
        if not isinstance(name, str):
            end("has a %s as the name of a tensor: %s" % (type(name).__name__, ADVICE))
        if not isinstance(t, torch.Tensor):
            end("has %.100s, of type %s, which is not a tensor: %s" % (name, type(t).__name__, ADVICE))
        if t.dtype not in TYPES or t.layout != torch.strided or t.is_meta:
            end("has %.100s, of type %s (%s), which is not read" % (name, t.dtype, t.layout))
        at, size = size, size + t.numel() * t.element_size()  # views can be larger than the file
        header[name] = {"dtype": TYPES[t.dtype], "shape": list(t.shape), "data_offsets": [at, size]}
    text = json.dumps(header).encode()
    if 8 + len(text) + size > most:
        end("needs %d MiB as numbers in a row, and the limit of memory is %d" % (size >> 20, most >> 20))
    out.write(len(text).to_bytes(8, "little") + text)
    for t in tensors.values():
        t = t.detach().resolve_neg().contiguous()
        if t.numel():
            out.write((ctypes.c_char * (t.numel() * t.element_size())).from_address(t.data_ptr()))
    out.close()
except (Exception, KeyboardInterrupt) as e:
    end("cannot be read: %s: %s" % (type(e).__name__, e))
