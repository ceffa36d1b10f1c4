package get

import (
	"path"
	"strings"
	"sync"
)

// Set is a public data set.
type Set struct {
	Name  string // of the set, and of the folder with its files
	About string // rows x features, classes
	Terms string // licence or terms of use
	Cite  string // the publication to cite
	Page  string // describes the set
	Train string // flags of `hogwild train` that suit it, after --data NAME
	Files []File
}

// File is one file to download. One that ends with .bz2 is unpacked; gzip is not, because every reader of data unpacks
// it.
type File struct {
	Name string // in the set's folder; an archive is deleted once it is unpacked
	URL  string
	Size int64  // bytes; 0: not known
	Sum  string // sha256 or md5 in hex; "": not known
	// an archive: what to take out. Without paths: the binary version of CIFAR-10, which becomes these arrays
	Take []Member
}

// Member is a file in an archive, and the name that it gets.
type Member struct{ Path, Name string }

// Gives lists the files that are in the folder in the end.
func (f File) Gives() (names []string) {
	for _, m := range f.Take {
		names = append(names, m.Name)
	}
	if names == nil {
		names = []string{strings.TrimSuffix(f.Name, ".bz2")}
	}
	return names
}

// Folders with files of several sets.
const (
	libsvm    = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
	uci       = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
	grouplens = "https://files.grouplens.org/datasets/movielens/"
	crepe     = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/"
)

// Terms of several sets.
const (
	noTerms = "No licence is stated by those who publish it."
	ccBy    = "Creative Commons Attribution 4.0 (CC BY 4.0), as the UCI repository states."
	platt   = "Platt: Fast training of support vector machines using sequential minimal optimization. Advances in " +
		"Kernel Methods, 1999."
	konstan = "Harper, Konstan: The MovieLens datasets: history and context. ACM Transactions on Interactive " +
		"Intelligent Systems 5(4), 2015."
	research = "For research; the README in the folder has the whole terms. You must acknowledge the use in " +
		"publications, and may not imply an endorsement by the University of Minnesota or GroupLens. "
	noSale   = "You may not use it for commercial purposes without permission by GroupLens."
	noCopies = "You may not redistribute the data without separate permission. "
)

// Sets is the table, a function because workers would pay for a variable when they start. Sizes and checksums are from
// these places, as each entry says:
//
//	TFDS    tensorflow_datasets/url_checksums/NAME.txt in github.com/tensorflow/datasets (sizes and sha256)
//	sklearn sklearn/datasets in github.com/scikit-learn/scikit-learn (sha256)
//	original the file itself, and a second publication of its checksum
//	users   projects of several authors that download it, which agree
var Sets = sync.OnceValue(func() []Set {
	return []Set{{ // sha256: TFDS
		Name: "mnist", About: "handwritten digits: 60,000 + 10,000 images of 28 x 28, 10 classes",
		Terms: "Copyright Yann LeCun and Corinna Cortes; Creative Commons Attribution-ShareAlike 3.0 (CC BY-SA 3.0).",
		Cite: "LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition. Proceedings " +
			"of the IEEE 86(11), 1998.",
		Page:  "http://yann.lecun.com/exdb/mnist/",
		Train: "--model mlp:128 --lr 0.1 --epochs 5",
		Files: idx("https://storage.googleapis.com/cvdf-datasets/mnist/",
			"440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9912422,
			"3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28881,
			"8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1648877,
			"f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4542),
	}, { // sha256: TFDS and original
		Name: "fashion-mnist", About: "pieces of clothing: 60,000 + 10,000 images of 28 x 28, 10 classes",
		Terms: "MIT licence, copyright 2017 Zalando SE.",
		Cite: "Xiao, Rasul, Vollgraf: Fashion-MNIST: a novel image dataset for benchmarking machine learning " +
			"algorithms. arXiv:1708.07747, 2017.",
		Page:  "https://github.com/zalandoresearch/fashion-mnist",
		Train: "--model mlp:128 --lr 0.1 --epochs 5",
		Files: idx("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
			"3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84", 26421880,
			"a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845", 29515,
			"346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073", 4422102,
			"67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5", 5148),
	}, { // sha256: TFDS
		Name: "kmnist", About: "cursive Japanese characters: 60,000 + 10,000 images of 28 x 28, 10 classes",
		Terms: "Creative Commons Attribution-ShareAlike 4.0 (CC BY-SA 4.0), by the ROIS-DS Center for Open Data in " +
			"the Humanities.",
		Cite: "Clanuwat, Bober-Irizar, Kitamoto, Lamb, Yamamoto, Ha: Deep learning for classical Japanese " +
			"literature. arXiv:1812.01718, 2018.",
		Page:  "https://github.com/rois-codh/kmnist",
		Train: "--model mlp:128 --lr 0.1 --epochs 5",
		Files: idx("https://codh.rois.ac.jp/kmnist/dataset/kmnist/",
			"51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4", 18165135,
			"e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17", 29497,
			"edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5", 3041136,
			"20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c", 5120),
	}, { // sha256: TFDS. The URL: torchvision/datasets/mnist.py
		Name: "emnist", About: "handwritten digits and letters, the balanced split: 112,800 + 18,800 images of 28 x " +
			"28, 47 classes",
		Terms: noTerms,
		Cite: "Cohen, Afshar, Tapson, van Schaik: EMNIST: an extension of MNIST to handwritten letters. " +
			"arXiv:1702.05373, 2017.",
		Page:  "https://www.nist.gov/itl/products-and-services/emnist-dataset",
		Train: "--model mlp:256 --lr 0.1 --epochs 10",
		Files: []File{file("https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip", 561753746,
			"fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",
			Member{"gzip/emnist-balanced-train-images-idx3-ubyte.gz", "train-images-idx3-ubyte.gz"},
			Member{"gzip/emnist-balanced-train-labels-idx1-ubyte.gz", "train-labels-idx1-ubyte.gz"},
			Member{"gzip/emnist-balanced-test-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz"},
			Member{"gzip/emnist-balanced-test-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"},
		)},
	}, { // sha256: TFDS
		Name: "cifar10", About: "photographs: 50,000 + 10,000 images of 32 x 32 in 3 colors, 10 classes",
		Terms: noTerms,
		Cite: "Krizhevsky: Learning multiple layers of features from tiny images. Technical report, University of " +
			"Toronto, 2009.",
		Page:  "https://www.cs.toronto.edu/~kriz/cifar.html",
		Train: "--model convnet --optimizer momentum --momentum 0.5",
		Files: []File{file("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", 170052171,
			"c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
			Member{Name: "X_train.npy"}, Member{Name: "y_train.npy"}, Member{Name: "X_test.npy"},
			Member{Name: "y_test.npy"})},
	}, { // sha256: original
		Name:  "a9a",
		About: "income above 50,000 dollars or not: 32,561 + 16,281 rows of 123 binary features, 2 classes",
		Terms: "Made from UCI's Adult set, which is under Creative Commons Attribution 4.0 (CC BY 4.0).",
		Cite:  platt, Page: libsvm[:len(libsvm)-1] + ".html#a9a",
		Train: "--model logistic",
		Files: []File{
			file(libsvm+"a9a", 2329875, "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906"),
			file(libsvm+"a9a.t", 1164628, "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9"),
		},
	}, {
		// sha256: original. md5 of the test set: the download script of www.largescalesvm.de, whose md5 of w8a is the
		// original's
		Name: "w8a", About: "kinds of web pages: 49,749 + 14,951 rows of 300 binary features, 2 classes",
		Terms: noTerms,
		Cite:  platt, Page: libsvm[:len(libsvm)-1] + ".html#w8a",
		Train: "--model logistic",
		Files: []File{
			file(libsvm+"w8a", 3478238, "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2"),
			file(libsvm+"w8a.t", 0, "938543adbdc198246247d5d2015f01e8"),
		},
	}, { // no checksum is published
		Name: "rcv1", About: "news stories, the Hogwild! paper's set: 20,242 + 677,399 rows of 47,236 features, " +
			"sparse, 2 classes",
		Terms: noTerms,
		Cite: "Lewis, Yang, Rose, Li: RCV1: a new benchmark collection for text categorization research. Journal of " +
			"Machine Learning Research 5, 2004.",
		Page:  libsvm[:len(libsvm)-1] + ".html#rcv1.binary",
		Train: "--model logistic",
		Files: []File{
			file(libsvm+"rcv1_train.binary.bz2", 13730096, ""),
			file(libsvm+"rcv1_test.binary.bz2", 0, ""),
		},
	}, { // no checksum is published
		Name: "news20", About: "newsgroup posts in two groups: 19,996 rows of 1,355,191 features, sparse, 2 classes",
		Terms: noTerms,
		Cite: "Keerthi, DeCoste: A modified finite Newton method for fast solution of large scale linear SVMs. " +
			"Journal of Machine Learning Research 6, 2005.",
		Page:  libsvm[:len(libsvm)-1] + ".html#news20.binary",
		Train: "--model logistic",
		Files: []File{file(libsvm+"news20.binary.bz2", 26779006, "")},
	}, { // sha256: sklearn
		Name: "covtype", About: "forest cover from maps: 581,012 rows of 54 features, 7 classes",
		Terms: ccBy,
		Cite: "Blackard, Dean: Comparative accuracies of artificial neural networks and discriminant analysis in " +
			"predicting forest cover types. Computers and Electronics in Agriculture 24(3), 1999.",
		Page:  "https://archive.ics.uci.edu/dataset/31/covertype",
		Train: "--model mlp:128",
		Files: []File{file(uci+"covtype/covtype.data.gz", 11240707,
			"614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771")},
	}, {
		// sha256: TFDS. Its adult.test has other labels ("<=50K." with a point), so it is left out: a9a has the same
		// rows
		Name: "adult", About: "income above 50,000 dollars or not: 32,561 rows of 14 columns, numbers and texts, 2 " +
			"classes",
		Terms: ccBy,
		Cite:  "Becker, Kohavi: Adult. UCI Machine Learning Repository, 1996.",
		Page:  "https://archive.ics.uci.edu/dataset/2/adult",
		Train: "--model logistic",
		Files: []File{file(uci+"adult/adult.data", 3974305,
			"5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d")},
	}, { // sha256: TFDS
		Name: "iris", About: "three kinds of iris: 150 rows of 4 columns, 3 classes",
		Terms: ccBy,
		Cite:  "Fisher: The use of multiple measurements in taxonomic problems. Annals of Eugenics 7(2), 1936.",
		Page:  "https://archive.ics.uci.edu/dataset/53/iris",
		Files: []File{file(uci+"iris/iris.data", 4551,
			"6f608b71a7317216319b4d27b4d9bc84e6abd734eda7872b71a458569e2656c0")},
	}, { // sha256: original
		Name: "california-housing", About: "house values of districts: 20,640 rows of 9 columns, regression",
		Terms: "From the repository of Hands-On Machine Learning (Apache License 2.0), made from " +
			"StatLib's cal_housing.",
		Cite:  "Pace, Barry: Sparse spatial autoregressions. Statistics and Probability Letters 33(3), 1997.",
		Page:  "https://github.com/ageron/handson-ml2/tree/master/datasets/housing",
		Train: "--target median_house_value --model linear",
		Files: []File{file(
			"https://raw.githubusercontent.com/ageron/handson-ml2/aa555aa16b9d0af6c84e67c7757f3317d05acb12/datasets/housing/housing.csv", 1423529, "8a3727f4cf54ac1a327f69b1d5b4db54c5834ea81c6e4efc0d163300022a685e")},
	}, { // sha256: TFDS
		Name: "movielens-100k", About: "ratings of films: 100,000 by 943 users of 1,682 films",
		Terms: research + noCopies + noSale,
		Cite:  konstan, Page: grouplens + "ml-100k-README.txt",
		Files: []File{file(grouplens+"ml-100k.zip", 4924029,
			"50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229", Member{"ml-100k/u.data", "u.data"},
			Member{"ml-100k/README", "README"})},
	}, { // sha256: TFDS
		Name: "movielens-1m", About: "ratings of films: 1,000,209 by 6,040 users of 3,706 films",
		Terms: research + noCopies + noSale,
		Cite:  konstan, Page: grouplens + "ml-1m-README.txt",
		Files: []File{file(grouplens+"ml-1m.zip", 5917549,
			"a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
			Member{"ml-1m/ratings.dat", "ratings.dat"}, Member{"ml-1m/README", "README"})},
	}, { // sha256: TFDS
		Name: "movielens-20m", About: "ratings of films: 20,000,263 by 138,493 users of 26,744 films",
		Terms: research + "You may redistribute the data under the same terms. " + noSale,
		Cite:  konstan, Page: grouplens + "ml-20m-README.html",
		Files: []File{file(grouplens+"ml-20m.zip", 198702078,
			"96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
			Member{"ml-20m/ratings.csv", "ratings.csv"}, Member{"ml-20m/README.txt", "README.txt"})},
	}, { // sha256: users
		Name: "text8", About: "text for word vectors: 17,005,207 words of Wikipedia, lower case, without punctuation",
		Terms: noTerms + " Made from English Wikipedia of March 2006.",
		Cite:  "Mahoney: About the test data. Large text compression benchmark, 2006.",
		Page:  "https://mattmahoney.net/dc/textdata.html",
		Train: "--model word2vec:100",
		Files: []File{file("https://mattmahoney.net/dc/text8.zip", 31344016,
			"a6640522afe85d1963ad56c05b0ede0a0c000dddc9671758a6cc09b7a38e5232", Member{"text8", "text8"})},
	}, { // sha256: users; md5: torchtext/datasets/ag_news.py, of the same files
		Name: "ag-news", About: "text of news stories in 4 classes: 120,000 + 7,600 rows of title and description",
		Terms: "AG's corpus is for research and any other non-commercial activity.",
		Cite: "Zhang, Zhao, LeCun: Character-level convolutional networks for text classification. Advances in " +
			"Neural Information Processing Systems 28, 2015.",
		Page:  "https://github.com/mhjabreel/CharCnn_Keras",
		Train: "--target 1 --model text:100",
		Files: []File{
			file(crepe+"train.csv", 29470338, "76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e"),
			file(crepe+"test.csv", 1857427, "521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699"),
		},
	}}
})

// Find returns the set of a name.
func Find(name string) (Set, bool) {
	for _, s := range Sets() {
		if s.Name == name {
			return s, true
		}
	}
	return Set{}, false
}

// Names returns the names of all sets.
func Names() (names []string) {
	for _, s := range Sets() {
		names = append(names, s.Name)
	}
	return names
}

func file(url string, size int64, sum string, take ...Member) File {
	return File{Name: path.Base(url), URL: url, Size: size, Sum: sum, Take: take}
}

// idx returns the four files of a set in MNIST's format, each with its sha256 and size.
func idx(folder, trainImages string, a int64, trainLabels string, b int64, testImages string, c int64,
	testLabels string, d int64) []File {
	return []File{
		file(folder+"train-images-idx3-ubyte.gz", a, trainImages),
		file(folder+"train-labels-idx1-ubyte.gz", b, trainLabels),
		file(folder+"t10k-images-idx3-ubyte.gz", c, testImages),
		file(folder+"t10k-labels-idx1-ubyte.gz", d, testLabels),
	}
}
