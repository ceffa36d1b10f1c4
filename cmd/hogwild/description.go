package main

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/saved"
)

// describing adds the flags that say what weights of PyTorch do not.
func describing(l *flagList, d *saved.Description) {
	l.category = "Weights of PyTorch"
	l.string(&d.Model, "model", "`MODEL` model these weights belong to: softmax, mlp:128, convnet and so on")
	l.string(&d.Loss, "loss", "`LOSS` loss of the model, same as in train")
	l.bool(&d.NoBias, "no-bias", "the model has no bias terms")
	l.string(&d.Train, "train", "`PATH` training data, for classes, columns and scaling")
	l.string(&d.Ignore, "ignore", config.Lookup("ignore").Usage)
	l.string(&d.Scale, "scale", "`HOW` scaling of inputs, same as in train: auto, none, unit, standard or MEAN,STD")
}
