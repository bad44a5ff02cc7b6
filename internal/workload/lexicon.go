package workload

import (
	"fmt"
	"strconv"
	"strings"
)

// The lexicon fills the slots of the grammar. Coined names are put together from syllables, so that names hardly ever
// repeat between documents and no fact can be known to a model beforehand.

var (
	onsets = strings.Fields("b br c ch cl d dr f fl g gl gr h j k kl l m n p pl pr qu r s sh sk sl st t th tr v w y z")
	nuclei = strings.Fields("a e i o u ai au ea ei ia io oa ou ue")
	codas  = strings.Fields("b ck d ft g l ld lm ln m n nd ng nt p r rd rk rn s sk st t th v x")

	givenNames = strings.Fields("Aaron Abena Adele Agnes Aisha Akira Alma Amara Anders Anil Anselm Astrid Bela Bianca Birgit Bogdan Brigid Carla Cedric Chidi Clara Dagmar Dalia Damian Deniz Dorit Edgar Elif Elsa Emeka Enzo Esther Farid Fatima Felix Fiona Gerda Gideon Gita Goran Greta Hamid Hana Heike Hugo Ilse Imani Ines Ivan Jakub Jana Jarek Joana Jorge Judit Kaito Karim Kerstin Kofi Lars Leila Lidia Linus Livia Lorenz Luca Magda Malik Marek Maren Mateo Mehmet Milan Mina Moritz Nadia Naoki Nils Nora Olga Omar Oskar Paloma Pavel Petra Piotr Priya Quentin Rafael Rana Ravi Renate Roman Rosa Ruben Salma Sanjay Selma Sigrid Silas Sofia Stellan Sunita Tariq Tessa Thea Tomas Ulla Umar Valentin Vera Viktor Wanda Wilma Xenia Yara Yusuf Zelda Zoran")
	familyEnds = strings.Fields("berg dahl feld gard holm inski kamp land mann mark ner quist ridge sen son stein strom thal vik wood worth well ford ley")

	cities = strings.Fields("Aalborg Adelaide Almaty Ankara Antwerp Bamako Basel Bergen Bilbao Bogota Bremen Brno Busan Cairo Calgary Cork Cusco Dakar Davos Delft Dresden Durban Esbjerg Fukuoka Galway Genoa Ghent Graz Hanoi Harare Havana Hobart Incheon Izmir Jaipur Kampala Kassel Kazan Kigali Kyoto Lagos Lausanne Leeds Leipzig Lima Linz Lodz Lugano Luanda Lusaka Lyon Malmo Manila Maputo Medellin Mendoza Metz Mombasa Mumbai Nairobi Nantes Naples Odense Oporto Osaka Oslo Oulu Padua Perth Plovdiv Porto Poznan Puebla Pune Quito Rabat Recife Reims Riga Rosario Rostock Rouen Salta Sapporo Sendai Seville Sfax Skopje Split Surat Tampere Tartu Tbilisi Toulouse Trieste Tromso Tunis Turin Turku Uppsala Utrecht Varna Verona Vigo Vilnius Windhoek Wuhan Yerevan Zadar Zagreb")

	months = map[string][]string{
		"en": strings.Fields("January February March April May June July August September October November December"),
		"de": strings.Fields("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
		"fr": strings.Fields("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
		"es": strings.Fields("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
		"ru": strings.Fields("января февраля марта апреля мая июня июля августа сентября октября ноября декабря"),
	}
)

// firstYear and yearSpan bound the dates of documents.
const firstYear, yearSpan = 1987, 45

// coined is a name of two or three syllables.
func (d draws) coined() string {
	var b strings.Builder
	for range d.between(1, 2) {
		b.WriteString(pick(d, onsets))
		b.WriteString(pick(d, nuclei))
	}
	b.WriteString(pick(d, onsets))
	b.WriteString(pick(d, nuclei))
	b.WriteString(pick(d, codas))
	return capital(b.String())
}

func (d draws) person() string {
	return pick(d, givenNames) + " " + capital(pick(d, onsets)+pick(d, nuclei)+pick(d, []string{"l", "n", "r", "s", "m", "t", "ld", "nd"})) + pick(d, familyEnds)
}

func (d draws) company() string {
	return d.coined() + " " + pick(d, strings.Fields("Freight Textiles Optics Foundry Brewery Timber Insurance Press Dairy Shipping Mills Robotics Ceramics Seeds Mining Salt Airways Glass Paper Motors"))
}

// code is like QK-4821.
func (d draws) code() string {
	const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	return string(letters[d.IntN(len(letters))]) + string(letters[d.IntN(len(letters))]) + "-" + strconv.Itoa(d.between(1000, 9999))
}

func (d draws) date(language string) string {
	year, month, day := firstYear+d.IntN(yearSpan), d.IntN(12), d.between(1, 28)
	switch language {
	case "zh", "ja":
		return fmt.Sprintf("%d年%d月%d日", year, month+1, day)
	case "de":
		return fmt.Sprintf("%d. %s %d", day, months[language][month], year)
	case "es":
		return fmt.Sprintf("%d de %s de %d", day, months[language][month], year)
	case "iso":
		return fmt.Sprintf("%d-%02d-%02d", year, month+1, day)
	}
	return fmt.Sprintf("%d %s %d", day, months[language][month], year)
}

// currencies by language, in the form that follows a large number.
var currencies = map[string][]string{
	"en": strings.Fields("euros dollars francs crowns pounds rupees pesos zlotys"),
	"de": strings.Fields("Euro Dollar Franken Kronen Pfund Rupien Pesos Zloty"),
	"fr": strings.Fields("euros dollars francs couronnes livres roupies pesos zlotys"),
	"es": strings.Fields("euros dólares francos coronas libras rupias pesos zlotys"),
	"ru": strings.Fields("евро песо эскудо"), // the same after every number
}

// digitGroups separate thousands.
var digitGroups = map[string]string{"en": ",", "de": ".", "fr": " ", "es": ".", "ru": " "}

func (d draws) money(language string) string {
	return strings.ReplaceAll(thousands(d.between(1100, 989000)), ",", digitGroups[language]) + " " + pick(d, currencies[language])
}

// thousands writes 12345 as 12,345.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (d draws) hex(n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[d.IntN(len(digits))]
	}
	return string(b)
}

// capital gives s with its first letter in upper case.
func capital(s string) string {
	for i, r := range s {
		return s[:i] + strings.ToUpper(string(r)) + s[i+len(string(r)):]
	}
	return s
}
