"""Names that people bear: given names of several cultures, family names, forms of address.

Short lists of the common, written for conversations; most people of the world are not in them. A name that
is a plain word as well (`will`, `rose`) is marked so, because only its surroundings tell.
"""

from __future__ import annotations

_FEMALE = (
    "abigail ada adriana agata agnes agnieszka aiko aisha alba alessandra alexandra alice alicia alina "
    "alison amanda amara amelia amina amy ana anastasia angela angelica anita anja ann anna anne annika "
    "antonia anya aoife april ashley astrid aurora ayesha ayse barbara beatrice beatriz becky bella berta "
    "beth betty bianca birgit brenda bridget brigitte camila camille carla carmen carol carolina caroline "
    "catherine cecilia celia celine chiara chioma chloe christina christine claire clara claudia colette "
    "connie cristina cynthia daisy daniela daria debbie deborah deepika delphine denise diana dina dolores "
    "donna dora doris dorothy edith eileen elaine eleanor elena eleni elif elisa elisabeth elise elizabeth "
    "ella ellen elsa emilia emily emma erica erika esther eva eve evelyn faith fatima fatma fernanda fiona "
    "flora florence frances francesca frida gabriela gabriella gemma genevieve georgia gina giulia gladys "
    "gloria grace greta gwen hana hanna hannah harriet haruka heather heidi helen helena helga hilda ida "
    "ilse imani ines inga ingrid irena irene irina iris isabel isabella isabelle ivana jackie jacqueline "
    "jada jane janet janice jasmine jen jenna jennifer jenny jess jessica jill joan joana joanna jodie "
    "josefina josephine joy joyce judith judy julia juliana julie juliet karen karin katarina katarzyna kate "
    "katherine kathleen kathy katie katja katya kavita keiko kelly khadija kimberly kirsten klara kristen "
    "kristin kristina lakshmi lara latisha laura lauren layla leah leila lena leticia lidia lila lily linda "
    "lisa liz lola lorena louise lucia lucy luisa luna lydia lynn madeleine maeve magda magdalena maggie "
    "maia malala malika margaret margarita maria mariam mariana marie marina marlene marta martha martina "
    "mary matilda maya mei melanie melissa mercedes mercy meredith mia michelle mila mina mira miriam molly "
    "mona monica monika nadia nadine nancy naomi natalia natalie natasha neha ngozi niamh nicole nina nisha "
    "noor nora nour nuria ofelia oksana olga olivia paloma pam pamela patricia paula pauline penelope petra "
    "phoebe pilar pooja priscilla priya rachel rania rebecca regina renata renee rita roberta rosa rosalind "
    "rose rosie roxana ruth sabine sabrina sadia sakura sally samantha samira sandra sanjana saoirse sara "
    "sarah selena serena shanice shannon sharon sheila shirley shreya silvia simone siobhan sofia sonia "
    "sophia sophie stacy stella stephanie sue sunita susan susanna suzanne svetlana sylvia tamara tanya tara "
    "tatiana teresa tessa tina tracy ulrike uma ursula valentina valerie vanessa vera veronica victoria "
    "violet virginia vivian wanda wanjiru wendy wilma yasmin yolanda yuki yuko yvonne zahra zainab zeynep "
    "zoe zofia zuzanna"
)
_MALE = (
    "aaron abdul abdullah abebe abraham adam adebayo ahmad ahmed akira alan albert alberto alejandro "
    "alessandro alfred ali allan alvaro amir amit anders andre andreas andrei andrew andy angelo anthony "
    "anton antonio archie ari arjun armando arnold arthur arturo arun ashok asif babajide barry bart ben "
    "benjamin bernard bernd bill bjorn bob boris brad bradley brandon brendan brian bruce bruno bryan calvin "
    "carl carlos cedric cesar charles charlie chen chidi chinedu chris christian christopher ciaran claude "
    "claus clement clive colin connor craig curtis cyril damian dan daniel danny darius darren dave david "
    "dean deepak dennis derek diego dieter dimitri dirk dmitri dmitry dominic don donald doug douglas duncan "
    "dylan ed eddie edgar eduardo edward edwin elias elijah eliot elliot emeka emil emilio emmanuel emre "
    "enrique eric erik ernest ernesto ethan eugene evan fabian fabio farid felipe felix fernando finn "
    "florian francesco francis francisco francois frank franz fred frederick friedrich fritz gabriel gareth "
    "gary gavin geoff geoffrey george gerald gerard gerhard giorgio giovanni giuseppe glen glenn gonzalo "
    "gordon graham greg gregory guido guillaume gunter gus gustavo guy hamid hamza hans harald harold harry "
    "harsh hassan hector heinrich heinz helmut henrik henry herbert hideo hiro hiroshi horst howard hugh "
    "hugo husain hussein ian ibrahim ignacio igor ilya imran isaac ismail ivan ivo jack jacob jaime jake "
    "jakob jakub jamal james jan jared jason javier jay jean-luc jeff jeffrey jens jeremy jerome jerry jesus "
    "jim jimmy jin joao joaquin joe joel johan johann johannes john johnny jon jonas jonathan jordi jorge "
    "jose josef joseph josh joshua juan juha julian julien julio jun jurgen justin kai kaito kamal karim "
    "karl keith ken kenji kenneth kevin khalid klaus kofi kumar kurt kwame kyle lars laurent lawrence lee "
    "leif len leo leon leonard leonardo leroy lewis liam lionel logan lorenzo louis luca lucas ludwig luigi "
    "luis luka lukas lukasz luke maarten magnus malcolm manuel marc marcel marcelo marco marcos marcus marek "
    "mario marius mark markus martin marvin mathieu matt matteo matthew matthias maurice mauricio max maxim "
    "maximilian mehmet michael michal michel miguel mike mikhail milan milos mitchell mohamed mohammad "
    "mohammed moses muhammad murat mustafa nabil nathan nathaniel naveen neil nelson nicholas nick nicolas "
    "niels nigel nikhil niklas nikola nikolai nils noah noel norman oleg oliver olivier omar omer oscar "
    "oskar osman otto owen pablo paolo pascal patrick paul pavel pawel pedro pekka per pete peter phil "
    "philip philipp philippe pierre piotr rafael rahul raj rajesh ralf ralph ramon randy rashid raul ravi "
    "ray raymond reinhard rene ricardo richard rick rob robert roberto rodrigo roger rohan roland rolf roman "
    "ron ronald ross roy rudolf rui rupert russell ryan sachin salman salvador sam samuel sandeep sanjay "
    "santiago satoshi scott sean sebastian sergei sergey sergio seth shawn sid siddharth simon sipho stan "
    "stanley stefan stefano stephen steve steven stuart sunil suresh sven takeshi tariq ted teodor terry "
    "thabo theo theodore thomas thorsten tim timo timothy tobias todd tom tomas tomasz tommy tony travis "
    "trevor tristan tunde tyler umar umberto vadim vasily victor vijay vikram viktor vincent vinod vito "
    "vladimir wade walter warren wei wesley wilhelm will willem william winston wolfgang xavier yannick "
    "yaroslav yasin youssef yuri yusuf yves zach zachary zeke zoltan"
)
_EITHER = (
    "alex alexis andrea ariel avery bailey blake cameron casey charlie chidera dakota dana drew eden emerson "
    "frankie hayden hyun-woo jamie jean jesse jo jordan jude jules kai kerry kim lee leslie li logan min "
    "min-jun morgan nguyen nicky pat quinn riley robin rowan sacha sam sasha shay sidney skyler sol taylor "
    "tran xiao yu"
)
_FAMILY = (
    "abdi acosta adams adeyemi aguilar ahmad ahmed akesson alvarez andersen anderson andersson ansah arslan "
    "bailey baker bauer becker bell bennett berg bergstrom bernard bianchi boateng borges brooks brown bui "
    "byrne campbell carter castillo castro chan chang chaudhry chavez chen cheng choi chopra chowdhury clark "
    "cohen collins cook cooper costa cox cruz curie da-silva das davies davis delacroix delgado demir desai "
    "diallo diaz dubois edwards eriksson evans farsi feng fernandez ferrari ferreira fischer fleming flores "
    "fofanah ford foster fournier fujita garcia garcia-marquez gomez gonzalez green gruber guerrero gupta "
    "gutierrez haddad hall hansen haque harris hassan hernandez hill ho hoffmann hopper hosseini howard "
    "huang hughes hussain hussein ibrahim islam ito ivanov ivanova iyer jackson jain james jansen jensen "
    "jimenez johansson johnson jones jung kamau kapoor kato kaur kaya kelly khan kim king klein kobayashi "
    "koch kovacs kowalski krishnan kumar lam larsen larsson le leroy lewis li lin lindberg liu lopez lu ma "
    "malik mancini marino marquez martin martinez mazur mbeki mccarthy mehta mendes mendez mendoza meyer "
    "miller mitchell mitra mohamed molina moore morales moreau moreno morgan mori morris muller murphy "
    "murray mutua nair nakamura nelson ngo nguyen nielsen novak novakova nowak nwosu obi oconnor okafor "
    "okeke okonkwo olsen olsson omondi ortiz osman owusu ozturk palmer park parker patel pereira perez "
    "peters peterson petrov petrova pham phillips popescu popov price qureshi rahman ramirez ramos rao reddy "
    "reyes reynolds ricci richardson rivera roberts robinson rodriguez rogers romano rossi roy ruiz russo "
    "sahin saito salazar sanchez sanders santos sato schmidt schneider schroeder schulz schwarz scott shah "
    "shankar sharma shevchenko shevchuk silva singh smirnov smith sokolov soto stewart stone sullivan suzuki "
    "takahashi tan tanaka taylor tessema thomas thompson torres tran tremblay turner vargas vasquez vega "
    "verma villanueva vu wagner walker wang ward watanabe watson weber white williams wilson wolf wong wood "
    "wright wu xu yamada yamamoto yang yilmaz yoshida young zhang zhao zhou zhu zimmermann"
)
_ALSO_WORDS = (
    "amber an angel april art aurora austin autumn bailey baker bell bill brown carol charlotte chase "
    "christian clement cook cooper crystal daisy dakota das dawn dean do don drew ed eden eve faith flora "
    "florence ford foster frank gene georgia ginger grace grant green guy hall harmony harsh heather hill ho "
    "holly hope iris ivy jack jan jasmine jean jo jordan joy jun june king le lee lily logan lu luna ma "
    "marina mark max may melody mercedes mercy miles min olive paris park pat pearl penny per price ray red "
    "regina rich rob robin roman rose ross ruby sandy see sid sierra sky so sol son stan stone sue summer "
    "tan victoria violet virginia wade ward white will wolf wood young yu"
)
_ADDRESSED_AS = {
    "male": "mr mister sir uncle father brother king prince herr monsieur senor",
    "female": "mrs ms miss madam aunt auntie mother sister queen princess frau madame senora",
    "": "dr doctor prof professor coach captain president judge senator chancellor minister chef pastor "
    "rabbi imam sergeant lieutenant colonel general officer detective nurse dean",
}

GENDERS: dict[str, str] = {
    **dict.fromkeys(_FEMALE.split(), "female"),
    **dict.fromkeys(_MALE.split(), "male"),
    **dict.fromkeys(_EITHER.split(), ""),
    **dict.fromkeys(("abby", "annie", "deb", "lizzie", "meg", "peggy", "steph", "vicky"), "female"),
    **dict.fromkeys(("al", "gabe", "hank", "joey", "larry", "nate", "vince"), "male"),
}
"""Given names, folded, and whom they mostly name: `female`, `male`, or empty where it can be anyone."""

FAMILY_NAMES = frozenset(_FAMILY.split())

ALSO_WORDS = frozenset(_ALSO_WORDS.split())
"""Names that are plain words or places as well."""

TITLES: dict[str, str] = {
    title: gender for gender, titles in _ADDRESSED_AS.items() for title in titles.split()
}
"""What stands before a name, folded, and whom it addresses."""

_FAMILY_ENDINGS = (
    *("ski", "ska", "sky", "skaya", "cki", "wicz", "enko", "chuk", "sson", "ström", "strom", "quist"),
    *("escu", "oglu", "poulos", "idis", "akis", "dottir", "nen", "shvili", "dze", "yan", "ian", "ovic"),
    *("evic", "ović", "ević", "opoulou", "ova", "eva", "stein", "berg", "baum", "feld", "mann"),
)
_FAMILY_BEGINNINGS = ("mc", "o'", "o’", "fitz", "al-", "el-", "ben-")
_LEAST_LETTERS = 6


def is_family_name(folded: str) -> bool:
    """Whether a word is a family name, or is built like one."""
    if folded in FAMILY_NAMES:
        return True
    return len(folded) >= _LEAST_LETTERS and (
        folded.endswith(_FAMILY_ENDINGS) or folded.startswith(_FAMILY_BEGINNINGS)
    )
