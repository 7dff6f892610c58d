/* Fill in the commands of Nextflow modules without Nextflow.
 *
 * Reads a JSON list from standard input: each entry has `module` (the path of a main.nf), `section`
 * (script or stub) and `variables` (the inputs of the process, and `task`). Prints a JSON list of
 * the commands. Every main.nf, and the main.nf.test beside it, is parsed as a whole, too: Nextflow's
 * language is a dialect of Groovy.
 */
import groovy.json.JsonOutput
import groovy.json.JsonSlurper

// The text of a section, from its label to the next label or to the end of the process.
String sectionOf(String text, String label) {
    def match = text =~ /(?s)\n    ${label}:\n(.*?)(?=\n    \w+:\n|\n}\s*$)/
    assert match.find(): "no section ${label}"
    return match.group(1)
}

Object evaluate(String code, Map variables) {
    return new GroovyShell(new Binding(variables)).evaluate(code)
}

def results = new JsonSlurper().parse(System.in).collect { entry ->
    def file = new File(entry.module)
    def text = file.text
    // The sections of a process have scopes of their own, so one of the two is parsed in its place.
    new GroovyShell().parse(text.replace(sectionOf(text, 'stub'), "    ''"))
    new GroovyShell().parse(new File(file.parentFile, 'tests/main.nf.test').text)
    return evaluate(sectionOf(text, entry.section), entry.variables).toString()
}
println JsonOutput.toJson(results)
